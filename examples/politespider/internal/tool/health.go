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
// If no other page is left, the spider checks the server: it requests a page
// again that the server has already sent. Without checks, a few broken pages at
// the end of a crawl would look like a server that is down, and the spider
// would have to send requests less and less often. A check proves less than a
// request for another page, because a cache may have answered the check.
// Therefore, after checks alone, a page is broken only at its third try. If the
// server responds to many checks, but to no request for a page, the checks end.
// A response that is certainly from a cache does not count.
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
	good     string    // URL of the latest page that a check can request; "" if none
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
		h.servers = make(map[string]*server)
		h.put = make(map[string]time.Time)
	}
	if h.servers[origin] == nil {
		h.servers[origin] = new(server)
	}
	return h.servers[origin]
}

// answer() remembers that the server has answered a request for the page. The
// page no longer counts as put off. If sent is true, the server has sent the
// page itself, so a later check can request this page.
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
// tries is how often the page was requested. putOff reports whether the page is
// probably broken.
func (h *health) putOff(origin, url string, tries int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(origin)
	s.failing = min(s.failing+1, maxChecks)
	s.down = true
	s.wait = max(0, s.wait-1)
	before, again := h.put[url]
	if again && (s.answered.After(before) || s.proved.After(before) && tries >= provedTries) {
		delete(h.put, url)
		return true
	}
	h.put[url] = time.Now()
	return false
}

// check returns the URL with which to check the server before the page is
// requested, or "" if there should be no check. There are two reasons for a
// check. First, the page was put off, and the server has not responded since,
// so another 503 would prove nothing about the page. Second, pages got several
// 503s in a row. If the server responds to the check, the Limiter shortens its
// pauses.
func (h *health) check(origin, url string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(origin)
	if s.checks == maxChecks || s.missed == maxMissed || s.wait > 0 {
		return ""
	}
	lastPutOff, wasPutOff := h.put[url]
	silentSince := wasPutOff && !s.respondedAfter(lastPutOff)
	if silentSince || s.keepsFailing() {
		return s.good
	}
	return ""
}

// respondedAfter reports whether the server has responded to a request for a
// page or to a check after t.
func (s *server) respondedAfter(t time.Time) bool {
	return s.answered.After(t) || s.proved.After(t)
}

// keepsFailing reports whether pages got several 503s in a row. After a check
// that the server has answered, one 503 is enough.
func (s *server) keepsFailing() bool {
	least := 2
	if s.checks > 0 {
		least = 1
	}
	return s.down && s.failing >= least
}

// checked() remembers the outcome of a check. After a check that was not
// answered, pages must get two more 503s before the next check.
func (h *health) checked(origin string, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(origin)
	if !answered {
		s.missed++
		s.wait = 2
		return
	}
	s.proved = time.Now()
	s.failing = max(0, s.failing-1)
	s.checks++
	s.missed = 0
}

// fromCache reports whether a response is certainly from a cache, and therefore
// proves nothing about the server behind the cache.
func fromCache(h http.Header) bool {
	if strings.Trim(h.Get("Age"), "0 ") != "" {
		return true
	}
	for _, name := range []string{"X-Cache", "X-Cache-Status", "Cf-Cache-Status", "X-Proxy-Cache"} {
		if strings.Contains(strings.ToLower(h.Get(name)), "hit") {
			return true
		}
	}
	return false
}
