package tool

import (
	"bytes"
	"net/url"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/sitemap"
)

// follow() queues the links that are new and in scope, and returns their
// number. Each queued page is a copy of the given page, with the link as its
// URL. If the Depth of the given page exceeds maxDepth, nothing is queued.
func (j *Job) follow(such frontier.Page, links []string) int {
	if such.Depth > j.opts.maxDepth {
		return 0
	}
	return j.add(such, links, j.opts.inScope)
}

// seed() queues the sitemaps that robots.txt names, if the crawl reads
// sitemaps. Such a sitemap may be on any host, because the site's own
// robots.txt names it.
func (j *Job) seed(decision *robotsmw.Decision) {
	if !j.opts.sitemaps || decision == nil || decision.File() == nil {
		return
	}
	if _, known := j.seeded.LoadOrStore(decision.RobotsURL, true); known {
		return
	}
	j.add(frontier.Page{From: decision.RobotsURL, Sitemap: true}, decision.File().Sitemaps(), anywhere)
}

// sow() queues what a sitemap lists: pages in scope, and further sitemaps on
// the same host. The pages count as start URLs.
func (j *Job) sow(from *url.URL, body []byte) int {
	var urls, sitemaps []string
	for entry, err := range sitemap.Read(bytes.NewReader(body)) {
		switch {
		case err != nil: // the end; what came before is good
		case entry.Index:
			sitemaps = append(sitemaps, entry.Loc)
		default:
			urls = append(urls, entry.Loc)
		}
	}
	here := func(u *url.URL) bool { return u.Host == from.Host }
	return j.follow(frontier.Page{From: from.String()}, urls) +
		j.add(frontier.Page{From: from.String(), Sitemap: true}, sitemaps, here)
}

// add() queues the links that are new and for which wanted() returns true. It
// returns their number. Each queued page is a copy of the given page, with the
// link as its URL.
func (j *Job) add(such frontier.Page, links []string, wanted func(*url.URL) bool) int {
	var pages []*frontier.Page
	for _, link := range links {
		if u, err := normalize(link); err == nil && wanted(u) {
			p := such
			p.URL, p.Host = u.String(), frontier.HostKey(u)
			pages = append(pages, &p)
		}
	}
	return j.frontier.Add(pages...)
}

func anywhere(*url.URL) bool { return true }
