package tool

import (
	"sync"
	"time"
)

// health tells a page that is broken from a host that has no time. The zero
// value is ready; it is safe for concurrent use.
type health struct {
	mu       sync.Mutex
	answered map[string]time.Time // host → when it last had an answer for a page
	put      map[string]time.Time // URL → when the page was last put off
}

// answer notes that a host has an answer for a page, which is not put off any
// more.
func (h *health) answer(host, url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered == nil {
		h.answered = make(map[string]time.Time)
	}
	h.answered[host] = time.Now()
	delete(h.put, url)
}

// putOff notes that a page was put off, and reports whether it is broken: it
// was put off before, and its host had an answer for another page since.
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
