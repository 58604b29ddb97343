package collyrobots

import (
	"net/http"

	"github.com/gocolly/colly/v2"
)

// judgeCached checks a page before colly serves it from its cache directory.
// The transport normally does not see the request for such a page. If the page
// may not be fetched any more, judgeCached sets "no-cache". The request then
// goes to the transport, which refuses it.
//
// If a page came by redirects, colly keeps it under the first URL alone. The
// other URLs are in m.chains, and judgeCached checks each of them.
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

// restoreCached undoes what judgeCached did to a request's Cache-Control.
func (m *member) restoreCached(r *colly.Request) {
	if old, ok := m.cacheControl.LoadAndDelete(r.ID); ok {
		if old := old.([]string); old != nil {
			(*r.Headers)["Cache-Control"] = old
		} else {
			delete(http.Header(*r.Headers), "Cache-Control")
		}
	}
}
