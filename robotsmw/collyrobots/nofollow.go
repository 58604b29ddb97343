package collyrobots

import (
	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"
)

// How nofollow is enforced:
//
// A crawler visits a link with Request.Visit of the page's Request. That calls
// the collector in the Request, which first checks whether it would visit the
// link. So the Request of a page that says nofollow gets a collector that never
// would. It refuses before it marks the URL as visited, so links from other
// pages can still lead there.
//
// Some requests do not go by the page's Request: those of Collector.Request
// with the page's Ctx. The extension refuses them in OnRequest, where it finds
// their page by the Ctx.

// noFollow marks a page whose links must not be followed.
func (m *member) noFollow(page *colly.Response) {
	r := page.Request
	m.marks.put(r).noFollow.Store(true)
	page.Ctx = r.Ctx
	if *ownerOf(r) != m.c {
		return // the page said so in its header already
	}
	url, refuse := r.URL.String(), m.c.Clone()
	refuse.Async, refuse.AllowURLRevisit = false, false
	if r.Depth > 0 {
		refuse.MaxDepth = r.Depth // colly then says ErrMaxDepth
	}
	store := storeOf(refuse)
	*store = &closedStore{*store, func() error {
		m.count.linksRefused.Add(1)
		return &NoFollowError{Page: url}
	}}
	refuse.OnRequest(func(again *colly.Request) {
		if again.Abort(); again.URL.String() != url { // a HEAD, for which colly does not ask the store
			m.count.linksRefused.Add(1)
			return
		}
		retry := *again // a Retry of the page itself, which the true collector makes
		*ownerOf(&retry) = m.c
		retry.Retry()
	})
	*ownerOf(r) = refuse
}

// closedStore is a visited set to which nothing can be added.
type closedStore struct {
	storage.Storage
	refuse func() error
}

func (s *closedStore) Visited(uint64) error { return s.refuse() }

// refuseChild gets a request with the Ctx of a page, and the mark k of that
// page. If the request was made from the page, refuseChild aborts it in two
// cases: the page says nofollow, or the request is for a rel=nofollow link.
func (m *member) refuseChild(r *colly.Request, k *mark) {
	switch {
	case k.is(r): // the same page again, which may say something else this time
		k.noFollow.Store(false)
		k.rel.Store(nil)
	case k.refuses(r.URL.String()):
		m.count.linksRefused.Add(1)
		r.Abort()
	default: // allowed: the request gets its own mark, so k does not affect its links
		m.marks.put(r)
	}
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
