package collyrobots

import (
	"net/http"

	"github.com/gocolly/colly/v2"
)

// judgeCached keeps colly from serving a page out of its cache directory that
// may not be fetched any more, because such a page never comes to the
// transport. "no-cache" sends the request there, to be refused as any other.
func (m *member) judgeCached(r *colly.Request) {
	if m.decide(m.c, r.URL) == nil {
		return
	}
	m.cacheControl.Store(r.ID, (*r.Headers)["Cache-Control"])
	r.Headers.Set("Cache-Control", "no-cache")
}

// restoreCached gives a request back the header that judgeCached took.
func (m *member) restoreCached(r *colly.Request) {
	if old, ok := m.cacheControl.LoadAndDelete(r.ID); ok {
		if old := old.([]string); old != nil {
			(*r.Headers)["Cache-Control"] = old
		} else {
			delete(http.Header(*r.Headers), "Cache-Control")
		}
	}
}
