package revisit

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A model is a server with one page that changes, and with random headers. It
// also computes what a cache may do, independently of the package.
type model struct {
	rand    *rand.Rand
	version int       // of the page
	changed time.Time // when the page was changed
	sent    int       // number of requests

	fresh  time.Time // until when no request must be sent; zero if the next must be sent
	status int       // the status of generated responses until then
}

func (m *model) RoundTrip(req *http.Request) (*http.Response, error) {
	m.sent++
	now := time.Now()
	r := m.rand
	h := make(http.Header)
	date := now.Add(-time.Duration(r.IntN(3)*r.IntN(20)) * time.Second)
	if r.IntN(4) > 0 {
		h.Set("Date", date.UTC().Format(http.TimeFormat))
	} else {
		date = now
	}
	age := now.Sub(date.Truncate(time.Second))
	if h.Get("Date") == "" {
		age = 0
	}
	if r.IntN(4) == 0 {
		seconds := r.IntN(60)
		h.Set("Age", fmt.Sprint(seconds))
		age = max(age, time.Duration(seconds)*time.Second)
	}
	lifetime := time.Duration(-1)
	switch r.IntN(6) {
	case 0:
		lifetime = time.Duration(r.IntN(120)) * time.Second
		h.Set("Cache-Control", fmt.Sprintf("private, max-age=%d", lifetime/time.Second))
	case 1:
		lifetime = time.Duration(r.IntN(120)) * time.Second
		base := date.Truncate(time.Second)
		if h.Get("Date") == "" {
			h.Set("Date", base.UTC().Format(http.TimeFormat))
			age = max(age, now.Sub(base))
		}
		h.Set("Expires", base.Add(lifetime).UTC().Format(http.TimeFormat))
	case 2:
		lifetime = 0
		h.Set("Cache-Control", "no-cache")
	case 3:
		h.Set("Cache-Control", "no-store")
	}
	noStore := h.Get("Cache-Control") == "no-store"

	etag := fmt.Sprintf(`"v%d"`, m.version)
	switch r.IntN(4) {
	case 0:
		etag = "W/" + etag
	case 1:
		etag = ""
	}
	if etag != "" {
		h.Set("Etag", etag)
	}
	if r.IntN(2) == 0 && !m.changed.After(date) {
		h.Set("Last-Modified", m.changed.UTC().Format(http.TimeFormat))
	}

	status := 200
	text := fmt.Sprintf("version %d", m.version)
	switch n := r.IntN(20); {
	case n < 3:
		status = []int{404, 429, 503}[n]
		text = ""
		if status != 404 { // these are not about the page
			h.Del("Etag")
			h.Del("Last-Modified")
		}
	case m.unchanged(req):
		status = 304
		text = ""
	}
	if status == 404 {
		m.version++ // what comes after it is another page
		m.changed = now
	}
	h.Set("X-Robots-Tag", fmt.Sprintf("version%d", m.version))
	if status >= 400 {
		h.Del("X-Robots-Tag")
	}

	isFresh429 := status == 429 && !noStore && lifetime > age
	leavesPage := status == 503 || status == 429 && !isFresh429
	switch {
	case leavesPage:
		// The stored page remains, but is not fresh.
	case noStore || lifetime < 0 && status != 304:
		m.fresh = time.Time{}
	case lifetime >= 0:
		m.fresh = now.Add(max(0, lifetime-age))
		m.status = status
		if status == 200 {
			m.status = 304
		}
	default: // a 304 without a lifetime renews that of the stored page, which has none
		m.fresh = time.Time{}
		m.status = 0
	}
	return &http.Response{
		StatusCode:    status,
		Header:        h,
		Body:          io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)),
		Request:       req,
	}, nil
}

// unchanged reports whether the conditions of a request are false, so that the
// response is a 304 (RFC 9110 §13.2.2).
func (m *model) unchanged(req *http.Request) bool {
	if match := req.Header.Get("If-None-Match"); match != "" {
		return strings.TrimPrefix(match, "W/") == fmt.Sprintf(`"v%d"`, m.version)
	}
	since, err := http.ParseTime(req.Header.Get("If-Modified-Since"))
	return err == nil && !m.changed.Truncate(time.Second).After(since)
}

// TestModel checks, for random headers and changes of a page, that a page is
// Unchanged only if it has not changed, that no request is sent while it is
// fresh, and that no directive is lost.
func TestModel(t *testing.T) {
	generated := 0 // the number of 304s that were generated
	validated := 0 // the number of 304s of the server
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := &model{rand: r, changed: time.Now().Add(-time.Hour)}
			client := &http.Client{Transport: &Transport{Base: m}}
			crawled := "" // the copy of the crawler
			for step := range 60 {
				time.Sleep(time.Duration(r.IntN(40_000)) * time.Millisecond)
				if r.IntN(3) == 0 {
					m.version++
					m.changed = time.Now()
				}
				before := m.sent
				fresh := m.fresh
				status := m.status
				resp, err := client.Get(page)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				visit, ok := Of(resp)
				sent := m.sent - before
				outcome := fmt.Sprintf("seed %d, step %d: %d requests were sent, status %d, visit %+v",
					seed, step, sent, resp.StatusCode, visit)
				if !ok || sent > 1 || visit.Sent != (sent == 1) {
					t.Fatalf("%s, want a Visit that is Sent if a request was sent", outcome)
				}
				isFresh := time.Now().Before(fresh)
				if isFresh && (sent > 0 || resp.StatusCode != status) {
					t.Fatalf("%s, want no request and status %d, because it is fresh until %v",
						outcome, status, fresh)
				}
				if wasFresh := !fresh.IsZero() && !isFresh; wasFresh && sent == 0 {
					t.Fatalf("%s, want a request, because it was fresh until %v", outcome, fresh)
				}
				if is304 := resp.StatusCode == 304; visit.Unchanged && !is304 || is304 && sent == 0 && !visit.Unchanged {
					t.Fatalf("%s, want Unchanged for a generated 304, and never without a 304", outcome)
				}
				if visit.Unchanged {
					checkUnchanged(t, outcome, m, visit, crawled, sent)
				}
				switch {
				case resp.StatusCode == 200:
					crawled = string(text)
				case resp.StatusCode == 404:
					crawled = ""
				case visit.Unchanged && sent == 0:
					generated++
				case visit.Unchanged:
					validated++
				}
			}
		})
	}
	if generated < 500 || validated < 500 {
		t.Errorf("%d 304s were generated and %d validated, want at least 500 each", generated, validated)
	}
}

// checkUnchanged checks a visit that is Unchanged. page is the copy of the
// crawler, and sent the number of requests.
func checkUnchanged(t *testing.T, outcome string, m *model, visit Visit, page string, sent int) {
	t.Helper()
	if page == "" {
		t.Fatalf("%s, want not Unchanged, because the crawler has no page", outcome)
	}
	if current := fmt.Sprintf("version %d", m.version); sent > 0 && page != current {
		t.Fatalf("%s, want not Unchanged, because the crawler has %q and the server has %q",
			outcome, page, current)
	}
	if name := strings.ReplaceAll(page, " ", ""); !hasRule(visit.Directives, name) {
		t.Fatalf("%s, want the directive %s of the page", outcome, name)
	}
}

func hasRule(d robotsmeta.Directives, name string) bool {
	for rule := range d.Rules() {
		if rule.Name == name {
			return true
		}
	}
	return false
}
