package collyrobots

import (
	"net/url"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// checkCached checks a page before colly may serve it from its cache directory.
// The transport does not see the request for such a page. If a rule that is in
// memory forbids the page by now, checkCached sets "no-cache". The request then
// goes to the transport, which refuses it. No robots.txt is fetched for a page
// from the cache directory, which therefore works offline. The same header
// sends the repeat of a 429, which colly has in its cache, to the server.
func (a *attachedCollector) checkCached(r *colly.Request) {
	if repeatMarkFor(r).repeats > 0 || a.isForbidden(r.URL) {
		r.Body = &repeatMark{body: r.Body, header: *r.Headers}
		*r.Headers = r.Headers.Clone()
		r.Headers.Set("Cache-Control", "no-cache")
	}
}

// isForbidden reports whether a robots.txt that is in memory forbids u. It
// returns false if none is, or if robots.txt is unreachable.
func (a *attachedCollector) isForbidden(u *url.URL) bool {
	d, err := a.checker.Check(ended, u) // a Check whose context has ended begins no fetch
	return err == nil && !d.Allowed && d.Reason != robotsmw.Unreachable
}

// restoreCached undoes what checkCached did to a request.
func (a *attachedCollector) restoreCached(r *colly.Request) {
	if b, ok := r.Body.(*repeatMark); ok && b.header != nil {
		r.Body, *r.Headers = b.body, b.header
	}
}
