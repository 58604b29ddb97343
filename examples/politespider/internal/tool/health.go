package tool

import (
	"sync"
	"time"
)

// A health finds out whether a page is broken or its host is overloaded. In
// both cases, the answer is a 503. The page is broken if it gets a 503 again,
// and its host has answered a request for another page, or a check, in between.
//
// If no other page is left, the spider checks the host: it asks again for a
// page that the host has already sent. Without checks, a few broken pages at
// the end of a crawl would look like a host that is down. The spider would then
// have to ask the host less and less often.
//
// The zero value is ready to use. A health is safe for concurrent use.
type health struct {
	mu    sync.Mutex
	hosts map[string]*hostHealth
	put   map[string]time.Time // URL → when the page was last put off
}

type hostHealth struct {
	answered time.Time // when the host last answered a request for a page, or a check
	good     string    // the latest page that the host has sent; "" if none, or if a check failed
	down     bool      // a page got a 503, and since then no page was answered
	checked  bool      // a check was answered, and since then no page was answered

	// This count goes up by one for each 503 that a page gets without a
	// Retry-After. As in the Limiter, it goes down by one for each answer, also
	// for that to a check.
	failing int
}

func (h *health) of(host string) *hostHealth {
	if h.hosts == nil {
		h.hosts, h.put = make(map[string]*hostHealth), make(map[string]time.Time)
	}
	if h.hosts[host] == nil {
		h.hosts[host] = new(hostHealth)
	}
	return h.hosts[host]
}

// answer() remembers that the host has answered a request for the page. The
// page no longer counts as put off. If sent is true, the host has sent the page
// itself, so a later check can ask for this page.
func (h *health) answer(host, url string, sent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.of(host)
	o.answered, o.failing, o.down, o.checked = time.Now(), max(0, o.failing-1), false, false
	if sent {
		o.good = url
	}
	delete(h.put, url)
}

// putOff remembers that a page was put off. It reports whether the page is
// probably broken. That is the case if the page was also put off earlier, and
// its host has answered a request for another page, or a check, in between.
func (h *health) putOff(host, url string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.of(host)
	o.failing, o.down = o.failing+1, true
	before, again := h.put[url]
	if again && o.answered.After(before) {
		delete(h.put, url)
		return true
	}
	h.put[url] = time.Now()
	return false
}

// check returns the URL with which to check the host before the page is asked
// for. It returns "" if the host is not to be checked. There are two reasons to
// check:
//   - The page was put off, and the host has answered nothing since. Then
//     another 503 would say nothing about the page.
//   - The host fails again and again. Then an answer to a check shortens the
//     time for which the Limiter leaves the host alone.
func (h *health) check(host, url string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.of(host)
	before, again := h.put[url]
	if again && !o.answered.After(before) || o.down && (o.failing >= 2 || o.failing == 1 && o.checked) {
		return o.good
	}
	return ""
}

// checked() remembers the outcome of a check. After a check that was not
// answered, the host is not checked again until it has sent another page.
func (h *health) checked(host string, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.of(host)
	if !answered {
		o.good = ""
		return
	}
	o.answered, o.failing, o.checked = time.Now(), max(0, o.failing-1), true
}
