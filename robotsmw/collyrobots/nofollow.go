package collyrobots

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gocolly/colly/v2"
)

// How nofollow is enforced:
//
// A crawler visits a link with Request.Visit of the page's Request. The new
// request inherits the page's Depth and Ctx. Colly compares the depth with
// MaxDepth first, and only then marks the URL as visited. So a page that says
// nofollow is moved to MaxDepth: its links are then too deep. Their URLs stay
// unvisited, so links from other pages can still lead there.
//
// Some requests ignore the depth: those of Request.New and of Collector.Request
// with the page's Ctx. The extension refuses them in OnRequest, where it finds
// their page by the Ctx. For this, each page that has a mark (see the type
// mark) gets a Ctx of its own. The original Ctx would not do, because the page
// shares it with its parent and siblings. The new Ctx is a shallow copy with
// the same values and the same lock.

// mark is what the extension remembers of a page besides its response.
type mark struct {
	method, url string
	depth       int // before noFollow moved the page to MaxDepth
	noFollow    atomic.Bool
	rel         atomic.Pointer[map[string]bool] // with ObeyRelNoFollow: URLs whose links on the page all have rel=nofollow
	tries       atomic.Int32                    // how many times the page was answered 429 or 503
}

func (k *mark) is(r *colly.Request) bool { return r.Method == k.method && r.URL.String() == k.url }

// marks finds a page's mark by the page's Ctx. The mark is dropped when the
// memory of the Ctx is freed. By then, the page and all requests made from the
// page are gone.
type marks struct {
	byCtx sync.Map // weak.Pointer[colly.Context] → *mark
	size  atomic.Int64
}

func (s *marks) of(ctx *colly.Context) *mark {
	if ctx == nil || s.size.Load() == 0 { // true for nearly all requests of most crawls
		return nil
	}
	return s.find(ctx)
}

// find is a separate method, so that marks.of is small enough to be inlined.
func (s *marks) find(ctx *colly.Context) *mark {
	if k, ok := s.byCtx.Load(weak.Make(ctx)); ok {
		return k.(*mark)
	}
	return nil
}

// ofPage returns the page's own mark, or nil if it has none.
func (s *marks) ofPage(page *colly.Request) *mark {
	if k := s.of(page.Ctx); k != nil && k.is(page) {
		return k
	}
	return nil
}

// put returns the page's mark. If it has none, put makes one and gives the page
// a Ctx of its own.
func (s *marks) put(page *colly.Request) *mark {
	if k := s.ofPage(page); k != nil {
		return k
	}
	own := *page.Ctx
	page.Ctx = &own
	k := &mark{method: page.Method, url: page.URL.String(), depth: page.Depth}
	key := weak.Make(&own)
	s.byCtx.Store(key, k)
	s.size.Add(1)
	runtime.AddCleanup(&own, s.drop, key)
	return k
}

func (s *marks) drop(key weak.Pointer[colly.Context]) {
	s.byCtx.Delete(key)
	s.size.Add(-1)
}

// noFollow marks a page whose links must not be followed.
func (m *member) noFollow(page *colly.Response) {
	k := m.marks.put(page.Request)
	k.noFollow.Store(true)
	page.Ctx = page.Request.Ctx
	page.Request.Depth = m.c.MaxDepth
	if m.c.MaxDepth == 0 { // the program set it to 0 after Attach
		page.Request.Depth = anyDepth
	}
}

// refuseChild gets a request with the Ctx of a page, and the mark k of that
// page. If the request was made from the page, refuseChild aborts it in two
// cases: the page says nofollow, or the request is for a rel=nofollow link.
func (m *member) refuseChild(r *colly.Request, k *mark) {
	switch {
	case k.is(r): // the same page again, which may say something else this time
		r.Depth = k.depth
		k.noFollow.Store(false)
		k.rel.Store(nil)
	case k.noFollow.Load() || k.relNoFollow(r):
		m.count.linksRefused.Add(1)
		r.Abort()
	default: // allowed: the request gets its own mark, so k does not affect its links
		m.marks.put(r)
	}
}

func (k *mark) relNoFollow(r *colly.Request) bool { return k.saysRel(r.URL.String()) }

func (k *mark) saysRel(target string) bool {
	urls := k.rel.Load()
	return urls != nil && (*urls)[asSent(target)]
}

// relLinks counts and remembers the rel=nofollow links of a page.
func (m *member) relLinks(page *colly.Response) {
	links, err := m.Links(page)
	if err != nil {
		return // colly reports the error
	}
	urls := map[string]bool{}
	for _, l := range links.Links {
		if l.NoFollow {
			m.count.relNoFollow.Add(1)
			urls[asSent(l.URL.String())] = true
		}
	}
	for _, l := range links.Links {
		if !l.NoFollow {
			delete(urls, asSent(l.URL.String()))
		}
	}
	if len(urls) > 0 {
		m.marks.put(page.Request).rel.Store(&urls)
		page.Ctx = page.Request.Ctx
	}
}
