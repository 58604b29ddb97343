package collyrobots

import (
	"net/url"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// checkCached checks a request before colly may answer it from its cache
// directory, because such a request does not reach the guard. If a rule in
// memory disallows the URL, checkCached sets "Cache-Control: no-cache", so that
// the request reaches the guard, which refuses it. No robots.txt is fetched, so
// that the cache directory can be used offline. The header is also set on the
// repeat of a 429, because colly has the 429 in its cache.
func (a *attachedCollector) checkCached(r *colly.Request) {
	if repeatMarkFor(r).repeats > 0 || a.isForbidden(r.URL) {
		r.Body = &repeatMark{body: r.Body, header: *r.Headers}
		*r.Headers = r.Headers.Clone()
		r.Headers.Set("Cache-Control", "no-cache")
	}
}

// isForbidden reports whether a robots.txt in memory disallows u. It returns
// false if there is none in memory, or if robots.txt is unreachable.
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
