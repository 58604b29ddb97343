package main

import (
	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/sitemap"
	"github.com/goodbots/courtesy/robotsmw"
)

// seed queues the sitemaps that robots.txt names, wherever they are: that it does makes them the site's own.
func (s *spider) seed(d *robotsmw.Decision) {
	if !s.sitemaps || d == nil || d.File() == nil {
		return
	}
	if _, known := s.seeded.LoadOrStore(d.RobotsURL, true); known {
		return
	}
	var pages []*frontier.Page
	for _, link := range d.File().Sitemaps() {
		if u, err := normalize(link); err == nil {
			pages = append(pages, &frontier.Page{URL: u, From: d.RobotsURL, Sitemap: true})
		}
	}
	s.frontier.Add(pages...)
}

// sow queues what a sitemap lists: pages in scope, and further sitemaps on its own host. They are as good as start URLs.
func (s *spider) sow(from *frontier.Page, body []byte) int {
	urls, sitemaps := sitemap.Read(body)
	n := s.follow(frontier.Page{From: from.URL.String()}, urls)
	var pages []*frontier.Page
	for _, link := range sitemaps {
		if u, err := normalize(link); err == nil && u.Host == from.URL.Host {
			pages = append(pages, &frontier.Page{URL: u, From: from.URL.String(), Sitemap: true})
		}
	}
	return n + s.frontier.Add(pages...)
}
