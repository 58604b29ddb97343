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

// A model is a server with one page that changes, and with headers at random.
// It also knows what a cache may do, by rules of its own.
type model struct {
	rand    *rand.Rand
	version int
	changed time.Time
	sent    int // requests

	// What the crawler may know: the last answer that may be remembered.
	fresh  time.Time // no request is sent before
	status int       // what is answered meanwhile
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

	status, text := 200, fmt.Sprintf("version %d", m.version)
	switch n := r.IntN(20); {
	case n < 3:
		status, text = []int{404, 429, 503}[n], ""
		if status != 404 { // these are not about the page
			h.Del("Etag")
			h.Del("Last-Modified")
		}
	case m.unchanged(req):
		status, text = 304, ""
	}
	if status == 404 {
		m.version++ // what comes after it is another page
		m.changed = now
	}
	h.Set("X-Robots-Tag", fmt.Sprintf("version%d", m.version))
	if status >= 400 {
		h.Del("X-Robots-Tag")
	}

	remembered := status != 503 && !noStore
	switch {
	case status == 503 || status == 429 && (noStore || lifetime <= age):
		// What was known before goes on, but it was not fresh.
	case !remembered || lifetime < 0 && status != 304:
		m.fresh = time.Time{}
	case lifetime >= 0:
		m.fresh, m.status = now.Add(max(0, lifetime-age)), status
		if status == 200 {
			m.status = 304
		}
	default: // a 304 without a lifetime begins an earlier one anew; the model knows none
		m.fresh, m.status = time.Time{}, 0
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: req}, nil
}

// unchanged evaluates the request's conditions (RFC 9110 §13.2.2).
func (m *model) unchanged(req *http.Request) bool {
	if match := req.Header.Get("If-None-Match"); match != "" {
		return strings.TrimPrefix(match, "W/") == fmt.Sprintf(`"v%d"`, m.version)
	}
	since, err := http.ParseTime(req.Header.Get("If-Modified-Since"))
	return err == nil && !m.changed.Truncate(time.Second).After(since)
}

// Whatever a server's headers, changes and clock: nothing is called unchanged
// that is not, no request is sent while fresh, and no directive is lost.
func TestModel(t *testing.T) {
	made, confirmed := 0, 0
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := &model{rand: r, changed: time.Now().Add(-time.Hour)}
			client := &http.Client{Transport: &Transport{Base: m}}
			have := "" // the crawler's copy of the page
			for step := range 60 {
				time.Sleep(time.Duration(r.IntN(40_000)) * time.Millisecond)
				if r.IntN(3) == 0 {
					m.version, m.changed = m.version+1, time.Now()
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
				asked := m.sent - before
				where := fmt.Sprintf(
					"seed %d, step %d: %d requests, %d %+v",
					seed,
					step,
					asked,
					resp.StatusCode,
					visit,
				)
				switch {
				case !ok || asked > 1 || visit.Sent != (asked == 1):
					t.Fatal(where)
				case time.Now().Before(fresh) && (asked > 0 || resp.StatusCode != status):
					t.Fatalf("%s, although fresh until %v with %d", where, fresh, status)
				case asked == 0 && !fresh.IsZero() && !time.Now().Before(fresh):
					t.Fatalf("%s, although fresh only until %v", where, fresh)
				case visit.Unchanged != (resp.StatusCode == 304 && (asked == 0 || visit.Unchanged)):
					t.Fatal(where)
				case visit.Unchanged && have == "":
					t.Fatalf("%s, but the crawler has no page", where)
				case visit.Unchanged && asked > 0 && have != fmt.Sprintf("version %d", m.version):
					t.Fatalf("%s, but the crawler has %q and the server version %d",
						where, have, m.version)
				case visit.Unchanged && !says(visit.Directives, strings.ReplaceAll(have, " ", "")):
					t.Fatalf("%s, but the directives of %q are lost", where, have)
				}
				switch {
				case resp.StatusCode == 200:
					have = string(text)
				case resp.StatusCode == 404:
					have = ""
				case visit.Unchanged && asked == 0:
					made++
				case visit.Unchanged:
					confirmed++
				}
			}
		})
	}
	if made < 500 || confirmed < 500 {
		t.Errorf("only %d answers were made here, %d confirmed by the server", made, confirmed)
	}
}

func says(d robotsmeta.Directives, word string) bool {
	for rule := range d.Rules() {
		if rule.Name == word {
			return true
		}
	}
	return false
}
