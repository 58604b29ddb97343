package collyrobots

import (
	"net/http"

	"github.com/gocolly/colly/v2"
)

// judgeCached keeps colly from serving a page out of its cache directory that
// may not be fetched any more, because such a page never comes to the
// transport. "no-cache" sends the request there, to be refused as any other.
//
// Colly keeps a page that came by redirects under the first URL alone. chains
// knows the others, and the page is judged by each.
func (m *member) judgeCached(r *colly.Request) {
	refused := m.decide(m.c, r.URL) != nil
	for _, u := range m.chains.of(m.c.CacheDir, r.URL) {
		refused = refused || m.decide(m.c, u) != nil
	}
	if !refused {
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
