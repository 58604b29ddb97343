package collyrobots

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gocolly/colly/v2"
)

// How nofollow is enforced.
//
// A link is visited by Request.Visit of the page's Request, which hands down
// the page's Depth and Ctx. Colly compares the depth with MaxDepth before
// anything else, and only then marks the URL as visited. So a page that says
// nofollow is moved to MaxDepth: its links are too deep, and stay unvisited for
// other pages that link to them.
//
// What goes round the depth (Request.New, Collector.Request with the page's
// Ctx) is refused in OnRequest, where the page is known by its Ctx: a page with
// a mark has a Ctx of its own, a shallow copy with the same values and the same
// lock, because the original is shared with the page's parent and siblings.

// mark is what is remembered of a page beyond its response.
type mark struct {
	method, url string
	depth       int // the real one
	noFollow    atomic.Bool
	rel         atomic.Pointer[map[string]bool] // URLs that the page links to with rel=nofollow only, under ObeyRelNoFollow
	tries       atomic.Int32                    // how often it was repeated after a 429 or 503
}

func (k *mark) is(r *colly.Request) bool { return r.Method == k.method && r.URL.String() == k.url }

// marks finds the mark of a page by its Ctx. A mark goes when the Ctx does:
// when neither the page nor requests made from it are left.
type marks struct {
	byCtx sync.Map // weak.Pointer[colly.Context] → *mark
	size  atomic.Int64
}

func (s *marks) of(ctx *colly.Context) *mark {
	if ctx == nil || s.size.Load() == 0 { // as in most crawls, most of the time
		return nil
	}
	return s.find(ctx)
}

// find is apart so that of, which is called for each request, is inlined.
func (s *marks) find(ctx *colly.Context) *mark {
	if k, ok := s.byCtx.Load(weak.Make(ctx)); ok {
		return k.(*mark)
	}
	return nil
}

// ofPage returns the mark that is the page's own; nil if it has none.
func (s *marks) ofPage(page *colly.Request) *mark {
	if k := s.of(page.Ctx); k != nil && k.is(page) {
		return k
	}
	return nil
}

// put returns the page's mark. If it has none, it gets one, and with it a Ctx
// of its own.
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

// noFollow marks a page whose links are not to be followed.
func (m *member) noFollow(page *colly.Response) {
	k := m.marks.put(page.Request)
	k.noFollow.Store(true)
	page.Ctx = page.Request.Ctx
	page.Request.Depth = m.c.MaxDepth
	if m.c.MaxDepth == 0 { // reset after Attach
		page.Request.Depth = anyDepth
	}
}

// refuseChild aborts a request that was made from a nofollow page past the
// depth, or for a rel=nofollow link; k is the mark of its Ctx.
func (m *member) refuseChild(r *colly.Request, k *mark) {
	switch {
	case k.is(r): // the page itself, repeated: it may say something else this time
		r.Depth = k.depth
		k.noFollow.Store(false)
		k.rel.Store(nil)
	case k.noFollow.Load() || k.relNoFollow(r):
		m.count.linksRefused.Add(1)
		r.Abort()
	default: // it may go, and what the page before it says does not concern its own links
		m.marks.put(r)
	}
}

func (k *mark) relNoFollow(r *colly.Request) bool { return k.saysRel(r.URL.String()) }

func (k *mark) saysRel(target string) bool {
	urls := k.rel.Load()
	return urls != nil && (*urls)[asSent(target)]
}

// relLinks deals with the rel=nofollow links of a page.
func (m *member) relLinks(page *colly.Response) {
	links, err := m.Links(page)
	if err != nil {
		return // colly reports it
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
