package tool

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A healthTest calls the methods of a health for one origin, a second apart.
type healthTest struct {
	*testing.T
	health
	tries map[string]int
}

const healthOrigin = "http://a.example"

func newHealthTest(t *testing.T) *healthTest {
	return &healthTest{T: t, tries: make(map[string]int)}
}

// putOff puts the page off. It checks whether the page then counts as broken.
func (t *healthTest) putOff(url string, want bool) {
	t.Helper()
	time.Sleep(time.Second)
	t.tries[url]++
	if got := t.health.putOff(healthOrigin, url, t.tries[url]); got != want {
		t.Errorf("after %d 503s, %s is broken: %t, want %t", t.tries[url], url, got, want)
	}
	time.Sleep(time.Second)
}

// check checks with which page the server is checked before a request for url.
func (t *healthTest) check(url, want string) {
	t.Helper()
	time.Sleep(time.Second)
	if got := t.health.check(healthOrigin, url); got != want {
		t.Errorf("before a request for %s, the server is checked with %q, want %q", url, got, want)
	}
}

// A page that is put off again is broken if its server has responded to a
// request for another page in the meantime.
func TestHealth_BrokenPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealthTest(t)
		h.putOff("/1", false)
		h.putOff("/1", false) // no page has succeeded
		h.putOff("/2", false)
		h.addResponse("http://a.example:8080", "/", true)
		h.putOff("/1", false) // only another server has responded
		h.addResponse(healthOrigin, "/3", true)
		h.putOff("/4", false) // /4 is put off for the first time
		h.putOff("/1", true)
		h.addResponse(healthOrigin, "/2", true)
		h.putOff("/2", false) // it was /2 itself that has succeeded
	})
}

// If only checks have succeeded, a page is broken at its third 503, because the
// response to a check may be from a cache.
func TestHealth_BrokenPageAfterChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealthTest(t)
		h.putOff("/1", false)
		h.addCheck(healthOrigin, true)
		h.putOff("/1", false) // second 503
		h.addCheck(healthOrigin, false)
		h.putOff("/1", false) // the last check has failed
		h.addCheck(healthOrigin, true)
		h.putOff("/1", true)
	})
}

// The server is checked if another 503 would prove nothing about the page. That
// requires a page that a check can request.
func TestHealth_CheckBeforeRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealthTest(t)
		h.check("/1", "") // the server is not known
		h.putOff("/1", false)
		h.check("/1", "") // the server has sent no page
		h.addResponse(healthOrigin, "/form", false)
		h.check("/1", "") // the server has sent no page that a check can request
		h.addResponse(healthOrigin, "/good", true)
		h.check("/1", "") // the server has responded since

		h.putOff("/2", false)
		h.check("/3", "") // one 503 is no reason for a check before another page
		h.check("/2", "/good")
		h.addCheck(healthOrigin, true)
		h.check("/2", "")
	})
}

// After a successful check, one 503 is enough for the next check, until a page
// succeeds.
func TestHealth_CheckAfterCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealthTest(t)
		h.addResponse(healthOrigin, "/good", true)
		h.putOff("/1", false)
		h.addCheck(healthOrigin, true)
		h.putOff("/2", false)
		h.check("/3", "/good")
		h.addCheck(healthOrigin, true)
		h.addResponse(healthOrigin, "/3", true)
		h.putOff("/4", false)
		h.check("/5", "")
	})
}

// After a failed check, two more 503s must be received before the next check.
// After three failed checks in a row, no further check is made.
func TestHealth_FailedChecksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealthTest(t)
		h.addResponse(healthOrigin, "/good", true)
		for n := range maxMissed {
			h.putOff(fmt.Sprint("/a", n), false)
			h.putOff(fmt.Sprint("/b", n), false)
			h.check("/next", "/good") // two 503s in a row
			h.addCheck(healthOrigin, false)
			h.check("/next", "")
			h.putOff(fmt.Sprint("/c", n), false)
			h.check("/next", "")
		}
		h.putOff("/d", false)
		h.putOff("/e", false)
		h.check("/e", "")
	})
}

// After maxChecks successful checks, no further check is made until a page
// succeeds.
func TestHealth_SuccessfulChecksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealthTest(t)
		h.addResponse(healthOrigin, "/good", true)
		for n := range maxChecks {
			url := fmt.Sprint("/", n)
			h.putOff(url, false)
			h.check(url, "/good")
			h.addCheck(healthOrigin, true)
		}
		h.putOff("/last", false)
		h.check("/last", "")
		h.check("/next", "")
	})
}

// The response of a cache proves nothing about the server behind the cache.
func TestIsFromCache(t *testing.T) {
	for field, want := range map[string]bool{
		"Age: 0":                       false,
		"Age: 12":                      true,
		"X-Cache: MISS, HIT":           true,
		"X-Cache: Hit from cloudfront": true,
		"X-Cache: MISS":                false,
		"CF-Cache-Status: HIT":         true,
		"CF-Cache-Status: DYNAMIC":     false,
		"X-Cache-Status: HIT":          true,
		"Server: hit":                  false,
	} {
		name, value, _ := strings.Cut(field, ": ")
		h := make(http.Header)
		h.Set(name, value)
		if got := isFromCache(h); got != want {
			t.Errorf("isFromCache with %s = %t, want %t", field, got, want)
		}
	}
}
