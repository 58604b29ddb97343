package tool

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A page that is put off again is broken if its server has answered a request
// for another page in between. If only checks were answered, the page is broken
// at its third 503.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health
		tries := make(map[string]int)
		putOff := func(url string, want bool) {
			t.Helper()
			time.Sleep(time.Second)
			tries[url]++
			if got := h.putOff("http://a.example", url, tries[url]); got != want {
				t.Errorf("%s is broken: %t, want %t", url, got, want)
			}
			time.Sleep(time.Second)
		}
		putOff("/1", false)
		putOff("/1", false) // nothing else was answered
		putOff("/2", false)
		h.addResponse("http://a.example:8080", "/", true)
		putOff("/1", false) // only another server has answered
		h.addResponse("http://a.example", "/3", true)
		putOff("/4", false) // /4 is put off for the first time
		putOff("/1", true)
		h.addResponse("http://a.example", "/2", true)
		putOff("/2", false) // /2 itself was answered in between

		putOff("/5", false)
		h.addCheck("http://a.example", true)
		putOff("/5", false) // the answer to the check may have come from a cache
		h.addCheck("http://a.example", false)
		putOff("/5", false) // the check was not answered
		h.addCheck("http://a.example", true)
		putOff("/5", true)
	})
}

// The server is checked if another 503 would prove nothing about the page, or
// if pages got several 503s in a row. Checks that are not answered become rare
// and end. Checks that are answered end too, if the server answers no request
// for a page meanwhile.
func TestHealth_Check(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const origin = "http://a.example"
		var h health
		check := func(url, want string) {
			t.Helper()
			time.Sleep(time.Second)
			if got := h.check(origin, url); got != want {
				t.Errorf("before %s: check with %q, want %q", url, got, want)
			}
		}
		check("/1", "") // the server is not known
		h.putOff(origin, "/1", 1)
		check("/1", "") // the server has sent no page
		h.addResponse(origin, "/form", false)
		check("/1", "") // the server has sent no page that a check can ask for
		h.addResponse(origin, "/good", true)
		check("/1", "") // the server has answered since

		h.putOff(origin, "/2", 1)
		check("/3", "") // one 503 is no reason for a check before another page is requested
		check("/2", "/good")
		h.addCheck(origin, true)
		check("/2", "")

		h.putOff(origin, "/3", 1)
		check("/4", "/good") // a check was answered, and since then no page was
		h.addCheck(origin, true)
		h.addResponse(origin, "/4", true)
		h.putOff(origin, "/5", 1)
		check("/6", "") // a page was answered

		for range maxMissed {
			h.putOff(origin, "/6", 1)
			h.putOff(origin, "/7", 1)
			check("/8", "/4") // two 503s in a row
			h.addCheck(origin, false)
			check("/8", "")
			h.putOff(origin, "/7", 2)
			check("/8", "")
		}
		h.putOff(origin, "/8", 1)
		h.putOff(origin, "/8", 2)
		check("/8", "") // too many checks were not answered

		h.addResponse(origin, "/9", true)
		for range maxChecks {
			h.putOff(origin, "/10", 1)
			check("/10", "/9")
			h.addCheck(origin, true)
		}
		h.putOff(origin, "/10", 1)
		check("/10", "") // too many checks were answered, but no page
		check("/11", "")
	})
}

// The answer of a cache says nothing about the server behind it.
func TestFromCache(t *testing.T) {
	for field, want := range map[string]bool{
		"Age: 0": false, "Age: 12": true, "X-Cache: MISS, HIT": true, "X-Cache: Hit from cloudfront": true, "X-Cache: MISS": false,
		"CF-Cache-Status: HIT": true, "CF-Cache-Status: DYNAMIC": false, "X-Cache-Status: HIT": true, "Server: hit": false,
	} {
		name, value, _ := strings.Cut(field, ": ")
		h := make(http.Header)
		h.Set(name, value)
		if got := fromCache(h); got != want {
			t.Errorf("%s: %t, want %t", field, got, want)
		}
	}
}
