package fetch

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
)

// An Answer is one response to a Question.
type Answer struct {
	Status      int         // 0: none came
	Header      http.Header // the fields that say something about a robots.txt, as far as they are short
	Body        []byte      // of a 2xx, decoded, at most one byte more than is read of a file
	Conditional bool        // validators were sent
	Refusal     string      // who answered in the site's place, and what; "": nobody did
}

// longest is how many bytes of each header field are kept, and how many a URL
// may have that a redirect leads to.
const longest = 8 << 10

// fields are those of a header that say something about a robots.txt.
var fields = [...]string{"Age", "Cache-Control", "Date", "Etag", "Expires", "Last-Modified", "Location", "Retry-After"}

// essence returns what is kept of a header. It shares no memory with h: whoever
// waits with an Answer in hand would hold the whole header otherwise, which may
// be megabytes. A field that is longer than can be meant is left out.
func essence(h http.Header) http.Header {
	kept := make(http.Header)
	for _, name := range fields {
		size := -1 // the commas are between
		for _, value := range h[name] {
			if size += len(value) + 1; size > longest {
				delete(kept, name)
				break
			}
			kept[name] = append(kept[name], strings.Clone(value))
		}
	}
	return kept
}

// RetryAfter is how long the server asks to be left alone; 0: it does not say.
func (a Answer) RetryAfter(now time.Time) time.Duration {
	d, _ := politeness.RetryAfter(a.Header, now)
	return d
}

// StatusText is the status for people, such as "status 503 Service
// Unavailable".
func (a Answer) StatusText() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", a.Status, http.StatusText(a.Status)))
}

// IsRedirect reports whether the answer is a redirect that is followed.
func (a Answer) IsRedirect() bool {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Target is where a redirect leads that came from a URL, if that is somewhere
// over http or https and not too long to be meant. User names and passwords are
// not passed on.
func (a Answer) Target(from *url.URL) (*url.URL, bool) {
	loc := a.Header.Get("Location")
	if loc == "" {
		return nil, false
	}
	u, err := from.Parse(loc)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	name, err := origin.Of(u, "")
	if err != nil {
		return nil, false
	}
	u.Host = origin.Host(name)
	u.Fragment, u.RawFragment, u.User = "", "", nil
	if u.Path == "" {
		u.Path = "/"
	}
	if len(u.String()) > longest {
		return nil, false
	}
	return u, true
}

// NamesHost reports whether a redirect says which host to ask, rather than
// being relative to the one that answered.
func (a Answer) NamesHost() bool {
	u, err := url.Parse(a.Header.Get("Location"))
	return err == nil && u.Host != ""
}
