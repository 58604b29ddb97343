package tool

import (
	"bytes"
	"net/url"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/sitemap"
)

// queueLinks queues the links that are new and in scope, and returns their
// number. Each queued page is a copy of the template, with the link as its URL.
// If the Depth of the template exceeds maxDepth, no page is queued.
func (j *Job) queueLinks(template frontier.Page, links []string) int {
	if template.Depth > j.opts.maxDepth {
		return 0
	}
	return j.queue(template, links, j.opts.inScope)
}

// queueSitemaps queues the sitemaps that robots.txt lists, if the crawl reads
// sitemaps. They may be on any host, because the site's own robots.txt lists
// them.
func (j *Job) queueSitemaps(decision *robotsmw.Decision) {
	if !j.opts.sitemaps || decision == nil {
		return
	}
	file := decision.File()
	if file == nil {
		return
	}
	if _, known := j.seeded.LoadOrStore(decision.RobotsURL, true); known {
		return
	}
	j.queue(frontier.Page{From: decision.RobotsURL, Sitemap: true}, file.Sitemaps(), anywhere)
}

// queueSitemapEntries queues what a sitemap lists: pages in scope, and further
// sitemaps on the same host. It treats the pages as start URLs. It returns the
// number of new URLs.
func (j *Job) queueSitemapEntries(from *url.URL, body []byte) int {
	var urls, sitemaps []string
	for entry, err := range sitemap.Read(bytes.NewReader(body)) {
		switch {
		case err != nil: // the last iteration; the entries before it are valid
		case entry.Index:
			sitemaps = append(sitemaps, entry.Loc)
		default:
			urls = append(urls, entry.Loc)
		}
	}
	sameHost := func(u *url.URL) bool { return u.Host == from.Host }
	return j.queueLinks(frontier.Page{From: from.String()}, urls) +
		j.queue(frontier.Page{From: from.String(), Sitemap: true}, sitemaps, sameHost)
}

// queue queues the links that are new and for which wanted returns true, and
// returns their number. Each queued page is a copy of the template, with the
// link as its URL.
func (j *Job) queue(template frontier.Page, links []string, wanted func(*url.URL) bool) int {
	var pages []*frontier.Page
	for _, link := range links {
		if u, err := normalize(link); err == nil && wanted(u) {
			p := template
			p.URL = u.String()
			p.Host = frontier.HostKey(u)
			pages = append(pages, &p)
		}
	}
	return j.frontier.Add(pages...)
}

// anywhere is a scope without limits.
func anywhere(*url.URL) bool { return true }
