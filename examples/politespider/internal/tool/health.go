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

// server returns the server of an origin, and adds it if it is new. The caller
// holds h.mu.
func (h *health) server(origin string) *server {
	if h.servers == nil {
		h.servers = make(map[string]*server)
		h.put = make(map[string]time.Time)
	}
	if h.servers[origin] == nil {
		h.servers[origin] = new(server)
	}
	return h.servers[origin]
}

// addResponse records that the server has responded to a request for the page,
// which no longer counts as put off. If fitForCheck is true, a later check can
// request this page.
func (h *health) addResponse(origin, url string, fitForCheck bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.server(origin)
	good := s.good
	if fitForCheck {
		good = url
	}
	*s = server{
		answered: time.Now(),
		proved:   s.proved,
		good:     good,
		failing:  max(0, s.failing-1),
	}
	delete(h.put, url)
}

// putOff records that the response for a page was a 503 without a Retry-After.
// tries is how often the page was requested. putOff reports whether the page is
// probably broken.
func (h *health) putOff(origin, url string, tries int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.server(origin)
	s.failing = min(s.failing+1, maxChecks)
	s.down = true
	s.wait = max(0, s.wait-1)
	before, wasPutOff := h.put[url]
	isBroken := s.answered.After(before) || (tries >= provedTries && s.proved.After(before))
	if wasPutOff && isBroken {
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
	s := h.server(origin)
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
	threshold := 2
	if s.checks > 0 {
		threshold = 1
	}
	return s.down && s.failing >= threshold
}

// addCheck records the outcome of a check. After a check without a response,
// there must be two more 503s for pages before the next check.
func (h *health) addCheck(origin string, responded bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.server(origin)
	if !responded {
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
