package tool

import (
	"sync"
	"time"
)

// A health finds out whether a page is broken or its host is overloaded. The
// zero value is ready to use. A health is safe for concurrent use.
type health struct {
	mu       sync.Mutex
	answered map[string]time.Time // host → when it last answered a request for a page
	put      map[string]time.Time // URL → when the page was last put off
}

// answer() remembers that the host has answered a request for the page. The
// page no longer counts as put off.
func (h *health) answer(host, url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered == nil {
		h.answered = make(map[string]time.Time)
	}
	h.answered[host] = time.Now()
	delete(h.put, url)
}

// putOff remembers that a page was put off. It reports whether the page is
// probably broken. That is the case if the page was also put off earlier, and
// its host has answered a request for another page in between.
func (h *health) putOff(host, url string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, again := h.put[url]
	if again && h.answered[host].After(before) {
		delete(h.put, url)
		return true
	}
	if h.put == nil {
		h.put = make(map[string]time.Time)
	}
	h.put[url] = time.Now()
	return false
}
