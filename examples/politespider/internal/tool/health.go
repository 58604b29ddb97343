package tool

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// A health determines whether a page is broken or its server is overloaded. In
// both cases, the response is a 503. The page is broken if the server responds
// with a 503 again although it has sent another page in the meantime.
//
// If no other page is left, the spider checks the server: it requests a page
// again that the server has already sent. Without checks, a few broken pages at
// the end of a crawl would look like a server that is down, and the spider
// would have to send requests less and less often. A check proves less than a
// request for another page, because the response may be from a cache. After
// checks alone, a page therefore counts as broken only at its third try. If the
// server responds to many checks, but to no request for a page, the checks end.
// A response that is certainly from a cache does not count.
//
// The zero value is ready to use. A health is safe for concurrent use.
type health struct {
	mu      sync.Mutex
	servers map[string]*server   // by origin, because each port of a host may have a server of its own
	put     map[string]time.Time // URL → when the page was last put off
}

// A server is the state of the server of an origin. A page or a check succeeds
// if the status of the response is below 500 and is not 429.
type server struct {
	pageAt    time.Time // when a page last succeeded
	checkAt   time.Time // when a check last succeeded
	checkURL  string    // the latest page that a check can request; "" if none
	down      bool      // a page got a 503, and no page has succeeded since
	checks    int       // number of successful checks since a page succeeded
	missed    int       // number of failed checks in a row
	skipNext  int       // number of 503s that must be received before the next check
	overloads int       // see putOff
}

const (
	// maxChecks limits the number of successful checks. After that many, no
	// check is made until a page succeeds.
	maxChecks = 24

	// maxMissed is the number of failed checks in a row after which no check is
	// made.
	maxMissed = 3

	// provedTries is the number of tries after which a page can count as broken
	// although only checks have succeeded.
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
	checkURL := s.checkURL
	if fitForCheck {
		checkURL = url
	}
	*s = server{
		pageAt:    time.Now(),
		checkAt:   s.checkAt,
		checkURL:  checkURL,
		overloads: max(0, s.overloads-1),
	}
	delete(h.put, url)
}

// putOff records that the response for a page was a 503 without a Retry-After.
// tries is the number of requests for the page. putOff reports whether the page
// is probably broken.
//
// As in the Limiter, each such 503 adds one to s.overloads, up to maxChecks,
// and each success of a page or of a check subtracts one.
func (h *health) putOff(origin, url string, tries int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.server(origin)
	s.overloads = min(s.overloads+1, maxChecks)
	s.down = true
	s.skipNext = max(0, s.skipNext-1)
	lastPutOff, wasPutOff := h.put[url]
	isBroken := s.pageAt.After(lastPutOff) || (tries >= provedTries && s.checkAt.After(lastPutOff))
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
	if !s.mayCheck() {
		return ""
	}
	lastPutOff, wasPutOff := h.put[url]
	silentSince := wasPutOff && !s.respondedAfter(lastPutOff)
	if silentSince || s.keepsFailing() {
		return s.checkURL
	}
	return ""
}

// mayCheck reports whether the limits on the number of checks allow one.
func (s *server) mayCheck() bool {
	return s.checks < maxChecks && s.missed < maxMissed && s.skipNext == 0
}

// respondedAfter reports whether the server has responded to a request for a
// page or to a check after t.
func (s *server) respondedAfter(t time.Time) bool {
	return s.pageAt.After(t) || s.checkAt.After(t)
}

// keepsFailing reports whether pages got several 503s in a row. After a
// successful check, one 503 is enough.
func (s *server) keepsFailing() bool {
	threshold := 2
	if s.checks > 0 {
		threshold = 1
	}
	return s.down && s.overloads >= threshold
}

// addCheck records the outcome of a check. After a check without a response,
// there must be two more 503s for pages before the next check.
func (h *health) addCheck(origin string, responded bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.server(origin)
	if !responded {
		s.missed++
		s.skipNext = 2
		return
	}
	s.checkAt = time.Now()
	s.overloads = max(0, s.overloads-1)
	s.checks++
	s.missed = 0
}

// isFromCache reports whether a response is certainly from a cache, and
// therefore proves nothing about the server behind the cache.
func isFromCache(h http.Header) bool {
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
