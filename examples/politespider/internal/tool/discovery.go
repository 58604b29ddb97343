package tool

import (
	"net/url"
	"sync"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/sitemap"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/robotsmw"
)

// A discovery queues the URLs that a crawl finds. It is safe for concurrent
// use.
type discovery struct {
	frontier keep.Queue
	inScope  func(*url.URL) bool
	maxDepth int // a page may be at most so many links away from a start URL
	sitemaps bool
	seeded   sync.Map // the keys are URLs of robots.txt files whose sitemaps are queued
}

// follow() queues the links that are new and in scope, and returns their
// number. Each queued page is a copy of the given page, with the link as its
// URL. If the Depth of the given page exceeds maxDepth, nothing is queued.
func (d *discovery) follow(such frontier.Page, links []string) int {
	if such.Depth > d.maxDepth {
		return 0
	}
	return d.add(such, links, d.inScope)
}

// seed() queues the sitemaps that robots.txt names, if the crawl reads
// sitemaps. Such a sitemap may be on any host, because the site's own
// robots.txt names it.
func (d *discovery) seed(decision *robotsmw.Decision) {
	if !d.sitemaps || decision == nil || decision.File() == nil {
		return
	}
	if _, known := d.seeded.LoadOrStore(decision.RobotsURL, true); known {
		return
	}
	anywhere := func(*url.URL) bool { return true }
	d.add(frontier.Page{From: decision.RobotsURL, Sitemap: true}, decision.File().Sitemaps(), anywhere)
}

// sow() queues what a sitemap lists: pages in scope, and further sitemaps on
// the same host. The pages count as start URLs.
func (d *discovery) sow(from *url.URL, body []byte) int {
	urls, sitemaps := sitemap.Read(body)
	here := func(u *url.URL) bool { return u.Host == from.Host }
	return d.follow(frontier.Page{From: from.String()}, urls) +
		d.add(frontier.Page{From: from.String(), Sitemap: true}, sitemaps, here)
}

// add() queues the links that are new and for which wanted() returns true. It
// returns their number. Each queued page is a copy of the given page, with the
// link as its URL.
func (d *discovery) add(such frontier.Page, links []string, wanted func(*url.URL) bool) int {
	var pages []*frontier.Page
	for _, link := range links {
		if u, err := normalize(link); err == nil && wanted(u) {
			p := such
			p.URL = u
			pages = append(pages, &p)
		}
	}
	return d.frontier.Add(pages...)
}
