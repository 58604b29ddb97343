package collyrobots

import (
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gocolly/colly/v2"
)

// A pageMark records which links of a page must not be followed.
type pageMark struct {
	method, url string
	noFollow    atomic.Bool
	rel         atomic.Pointer[map[string]bool] // with ObeyRelNoFollow: URLs for which all links on the page have rel=nofollow
}

func (k *pageMark) is(r *colly.Request) bool { return r.Method == k.method && r.URL.String() == k.url }

// refuses reports whether a link of the page must not be followed.
func (k *pageMark) refuses(target string) bool {
	urls := k.rel.Load()
	return k.noFollow.Load() || urls != nil && (*urls)[asSent(target)]
}

// pageMarks contains the marks of pages by their Ctx, because all requests that
// are made from a page inherit its Ctx. A page also shares its Ctx with its
// parent and siblings. Therefore a page that has a mark gets a Ctx of its own:
// a shallow copy with the same values and the same lock. The mark is removed
// when the Ctx is garbage collected, when neither the page nor any request made
// from it is in use.
type pageMarks struct {
	marks sync.Map     // weak.Pointer[colly.Context] → *pageMark
	count atomic.Int64 // number of marks
}

// forContext returns the mark of a Ctx, or nil if it has none.
func (s *pageMarks) forContext(ctx *colly.Context) *pageMark {
	if s.count.Load() == 0 {
		return nil // without the cost of a weak pointer, which is that of several allocations
	}
	k, _ := s.marks.Load(weak.Make(ctx))
	m, _ := k.(*pageMark)
	return m
}

// forPage returns the page's own mark, or nil if it has none.
func (s *pageMarks) forPage(page *colly.Request) *pageMark {
	if k := s.forContext(page.Ctx); k != nil && k.is(page) {
		return k
	}
	return nil
}

// useCtxOfRequest sets the Ctx of a response to that of its request. Colly sets
// it to the Ctx with which the request was made, which putNew may have replaced
// with a copy since.
func useCtxOfRequest(page *colly.Response) { page.Ctx = page.Request.Ctx }

// put returns the page's mark. If it has none, put calls putNew.
func (s *pageMarks) put(page *colly.Request) *pageMark {
	if k := s.forPage(page); k != nil {
		return k
	}
	return s.putNew(page)
}

// putNew gives the page a new mark and a Ctx of its own.
func (s *pageMarks) putNew(page *colly.Request) *pageMark {
	own := *page.Ctx
	page.Ctx = &own
	k := &pageMark{method: page.Method, url: page.URL.String()}
	key := weak.Make(&own)
	s.count.Add(1) // before the mark can be found
	s.marks.Store(key, k)
	runtime.AddCleanup(&own, s.drop, key)
	return k
}

// drop removes the mark of a Ctx that was garbage collected.
func (s *pageMarks) drop(key weak.Pointer[colly.Context]) {
	s.marks.Delete(key)
	s.count.Add(-1)
}

// asSent returns an absolute URL as colly sends it, without the fragment. It
// returns "" if URL is not a valid absolute URL.
func asSent(URL string) string {
	target, _, hasFragment := strings.Cut(absoluteBase.AbsoluteURL(URL), "#")
	if hasFragment {
		target = strings.Clone(target) // a mark must not retain a long fragment
	}
	return target
}

var absoluteBase = &colly.Request{URL: &url.URL{Scheme: "http", Host: "invalid"}}
