package tool

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// A health finds out whether a page is broken or its server is overloaded. In
// both cases, the answer is a 503. The page is broken if it gets a 503 again,
// and the server has answered a request for another page in between.
//
// If no other page is left, the spider checks the server: it asks again for a
// page that the server has already sent. Without checks, a few broken pages at
// the end of a crawl would look like a server that is down. The spider would
// then have to ask it less and less often. But a check proves less than a
// request for another page, because a cache may have answered the check. So
// after checks alone, a page is broken only at its third try. If the server
// answers many checks, but no request for a page, the checks end. An answer
// that surely came from a cache does not count.
//
// The zero value is ready to use. A health is safe for concurrent use.
type health struct {
	mu      sync.Mutex
	servers map[string]*server   // by scheme, host and port: each port of a host may have a server of its own
	put     map[string]time.Time // URL → when the page was last put off
}

// A server is what a health knows about the server of an origin.
type server struct {
	answered time.Time // when it last answered a request for a page
	proved   time.Time // when it last answered a check
	good     string    // URL of the latest page that a check can ask for; "" if none
	down     bool      // a page got a 503, and since then no page was answered
	checks   int       // how many checks were answered since a page was answered
	missed   int       // how many checks in a row were not answered
	wait     int       // how many 503s must come before the next check

	// This count goes up by one for each 503 that a page gets without a
	// Retry-After, up to maxChecks. As in the Limiter, it goes down by one for
	// each answer. An answer to a check counts too.
	failing int
}

const (
	// maxChecks limits the number of answered checks. After that many, no more
	// checks are made until the server answers a request for a page.
	maxChecks = 24

	// maxMissed is how many checks in a row are made if none is answered.
	maxMissed = 3

	// provedTries is the number of tries after which a page can count as broken
	// although the server has answered only checks.
	provedTries = 3
)

// of() returns the server of an origin. The caller holds h.mu.
func (h *health) of(origin string) *server {
	if h.servers == nil {
		h.servers, h.put = make(map[string]*server), make(map[string]time.Time)
	}
	if h.servers[origin] == nil {
		h.servers[origin] = new(server)
	}
	return h.servers[origin]
}

// answer() remembers that the server has answered a request for the page. The
// page no longer counts as put off. If sent is true, the server has sent the
// page itself, so a later check can ask for this page.
func (h *health) answer(origin, url string, sent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(origin)
	good := s.good
	if sent {
		good = url
	}
	*s = server{answered: time.Now(), proved: s.proved, good: good, failing: max(0, s.failing-1)}
	delete(h.put, url)
}

// putOff remembers that a page got a 503 without a Retry-After. The argument
// tries is how often the page was asked for. putOff reports whether the page is
// probably broken.
func (h *health) putOff(origin, url string, tries int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(origin)
	s.failing, s.down, s.wait = min(s.failing+1, maxChecks), true, max(0, s.wait-1)
	before, again := h.put[url]
	if again && (s.answered.After(before) || s.proved.After(before) && tries >= provedTries) {
		delete(h.put, url)
		return true
	}
	h.put[url] = time.Now()
	return false
}

// check returns the URL with which to check the server before the page is asked
// for. It returns "" if there should be no check. There are two reasons for a
// check. First, the page was put off, and the server has answered nothing
// since. Then another 503 would prove nothing about the page. Second, pages got
// several 503s in a row. If the server answers the check, the Limiter shortens
// its pauses.
func (h *health) check(origin, url string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(origin)
	if s.checks == maxChecks || s.missed == maxMissed || s.wait > 0 {
		return ""
	}
	before, again := h.put[url]
	if again && !s.answered.After(before) && !s.proved.After(before) || s.down && (s.failing >= 2 || s.failing == 1 && s.checks > 0) {
		return s.good
	}
	return ""
}

// checked() remembers the outcome of a check. After a check that was not
// answered, pages must get two more 503s before the next check.
func (h *health) checked(origin string, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(origin)
	if !answered {
		s.missed, s.wait = s.missed+1, 2
		return
	}
	s.proved, s.failing, s.checks, s.missed = time.Now(), max(0, s.failing-1), s.checks+1, 0
}

// fromCache reports whether an answer surely came from a cache. Then it says
// nothing about the server behind the cache.
func fromCache(h http.Header) bool {
	said := h.Get("X-Cache") + " " + h.Get("X-Cache-Status") + " " + h.Get("Cf-Cache-Status") + " " + h.Get("X-Proxy-Cache")
	return strings.Trim(h.Get("Age"), "0 ") != "" || strings.Contains(strings.ToLower(said), "hit")
}
