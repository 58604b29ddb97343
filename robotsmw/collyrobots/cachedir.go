package collyrobots

import (
	"crypto/sha1"
	"encoding/gob"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/robotsmw"
)

// checkCached checks a request before colly may return a page from its cache
// directory, because such a request does not reach the guard. If a rule in
// memory disallows the URL, checkCached sets "Cache-Control: no-cache", so that
// the request reaches the guard, which refuses it. No robots.txt is fetched, so
// that the cache directory can be used offline. The header is also set on the
// repeat of a 429 that removeCached429 could not remove. Colly does not cache a
// response to a request with this header.
func (a *attachedCollector) checkCached(r *colly.Request) {
	if repeatMarkFor(r).bypassesCache || a.isForbidden(r.URL) {
		// Colly has already created the http.Request, so this Body is not sent.
		// It only stores the original header for restoreCached, which
		// refuseLinks and afterFailure call.
		r.Body = &repeatMark{body: r.Body, header: *r.Headers}
		*r.Headers = r.Headers.Clone()
		r.Headers.Set("Cache-Control", "no-cache")
	}
}

// isForbidden reports whether a robots.txt in memory disallows u. It returns
// false if there is none in memory, or if robots.txt is unreachable.
func (a *attachedCollector) isForbidden(u *url.URL) bool {
	d, err := a.checker.Check(ended, u) // a Check whose context has ended does not begin a fetch
	return err == nil && !d.Allowed && d.Reason != robotsmw.Unreachable
}

// restoreCached undoes the changes that checkCached made to a request.
func (a *attachedCollector) restoreCached(r *colly.Request) {
	if b, ok := r.Body.(*repeatMark); ok && b.header != nil {
		r.Body, *r.Headers = b.body, b.header
	}
}

// forgetThrottled removes a response with the status 429 or 430 from colly's
// cache directory. Colly caches all responses except those with a 5xx status,
// so each repeat would otherwise get the same 429, even in later runs of the
// program. bypassCache reports whether the response could not be removed, so
// that a repeat of the request must not use the cache.
func (a *attachedCollector) forgetThrottled(r *colly.Response) (bypassCache bool) {
	if a.collector.CacheDir == "" || r.Request.Method != http.MethodGet || !httpstatus.IsThrottled(r.StatusCode) {
		return false
	}
	return !removeCached429(a.collector.CacheDir, r.Request.URL)
}

// removeCached429 removes the file in which colly caches the page at u, if it
// contains a 429 or 430. It returns false if it removed no file. After a
// redirect, for example, it does not find the file, which is named after the
// URL of the first request. It would not find the file either if another
// version of colly named its files differently.
func removeCached429(dir string, u *url.URL) bool {
	sum := sha1.Sum([]byte(u.String()))
	name := hex.EncodeToString(sum[:])
	path := filepath.Join(dir, name[:2], name)
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	var cached struct{ StatusCode int } // the part of a colly.Response that is needed
	err = gob.NewDecoder(file).Decode(&cached)
	file.Close() // before Remove, as Windows requires
	if err != nil || !httpstatus.IsThrottled(cached.StatusCode) {
		return false
	}
	return os.Remove(path) == nil
}
