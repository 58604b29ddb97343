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

// checkCached checks a request before colly may answer it from its cache
// directory, because such a request does not reach the guard. If a rule in
// memory disallows the URL, checkCached sets "Cache-Control: no-cache", so that
// the request reaches the guard, which refuses it. No robots.txt is fetched, so
// that the cache directory can be used offline. The header is also set on the
// repeat of a 429 that removeCached429 could not remove. Colly does not cache a
// response to a request with this header.
func (a *attachedCollector) checkCached(r *colly.Request) {
	if repeatMarkFor(r).bypassesCache || a.isForbidden(r.URL) {
		// Colly has made the http.Request, so this Body is not sent. The mark
		// only keeps the header until restoreCached, which refuseLinks and
		// afterFailure call.
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

// forgetThrottled is called for a response with a status for which
// RetryThrottled applies, and removes it from the cache directory. Colly caches
// all responses but a 5xx, so that each repeat would get the same 429, in later
// runs of the program too. bypassCache reports whether colly must not use its
// cache for a repeat of the request.
func (a *attachedCollector) forgetThrottled(r *colly.Response) (bypassCache bool) {
	if a.collector.CacheDir == "" || r.Request.Method != http.MethodGet || !httpstatus.IsThrottled(r.StatusCode) {
		return false
	}
	return !removeCached429(a.collector.CacheDir, r.Request.URL)
}

// removeCached429 removes the file in which colly caches the page at u, if it
// contains a 429 or 430. It returns false if there is no such file. This is the
// case after a redirect, because the file is that of the first URL, and would
// be the case if another version of colly named its files in another way.
func removeCached429(dir string, u *url.URL) bool {
	sum := sha1.Sum([]byte(u.String()))
	name := hex.EncodeToString(sum[:])
	path := filepath.Join(dir, name[:2], name)
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	var cached struct{ StatusCode int } // of a colly.Response
	err = gob.NewDecoder(file).Decode(&cached)
	file.Close() // before Remove, as Windows requires
	if err != nil || !httpstatus.IsThrottled(cached.StatusCode) {
		return false
	}
	return os.Remove(path) == nil
}
