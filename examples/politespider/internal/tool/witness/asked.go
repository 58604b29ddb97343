package witness

import (
	"net/http"
	"slices"
	"sync"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// The type "asked" collects the requests for robots.txt until they become part
// of a record. It is safe for concurrent use.
type asked struct {
	mu       sync.Mutex
	requests []askedFor
}

type askedFor struct {
	record.Request
	next string // the URL to which the answer redirects, or ""
}

func (a *asked) add(req *http.Request, resp *http.Response, r record.Request) {
	f := askedFor{Request: r}
	if resp != nil {
		if u, err := req.URL.Parse(resp.Header.Get("Location")); err == nil && resp.Header.Get("Location") != "" {
			f.next = u.String()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, f)
}

// take removes the requests for the robots.txt at this URL, and for the targets
// of its redirects. It returns the removed requests.
func (a *asked) take(url string) (sent []record.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for url != "" {
		next := ""
		a.requests = slices.DeleteFunc(a.requests, func(f askedFor) bool {
			if f.URL != url {
				return false
			}
			sent, next = append(sent, f.Request), f.next
			return true
		})
		url = next
	}
	return sent
}
