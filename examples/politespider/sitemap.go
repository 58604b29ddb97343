package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
	"strings"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/robotsmw"
)

// The protocol's own limits (https://www.sitemaps.org/protocol.html).
const (
	maxSitemapURLs  = 50_000
	maxSitemapBytes = 50 << 20
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
	urls, sitemaps := readSitemap(body)
	n := s.follow(frontier.Page{From: from.URL.String()}, urls)
	var pages []*frontier.Page
	for _, link := range sitemaps {
		if u, err := normalize(link); err == nil && u.Host == from.URL.Host {
			pages = append(pages, &frontier.Page{URL: u, From: from.URL.String(), Sitemap: true})
		}
	}
	return n + s.frontier.Add(pages...)
}

// readSitemap returns the URLs in a sitemap: XML or lines of text, packed or not. It never fails: of one that breaks off, or
// is none, it returns what there is. (No library does this that is looked after, and leaves the fetching to its caller.)
func readSitemap(body []byte) (urls, sitemaps []string) {
	var in io.Reader = bytes.NewReader(body)
	if unpacked, err := gzip.NewReader(in); err == nil {
		in = unpacked
	} else {
		in = bytes.NewReader(body)
	}
	text := bufio.NewReader(io.LimitReader(in, maxSitemapBytes))
	if start, _ := text.Peek(3); string(start) == "\ufeff" {
		text.Discard(3)
	}
	if start, _ := text.Peek(512); !bytes.HasPrefix(bytes.TrimSpace(start), []byte("<")) {
		return textSitemap(text), nil
	}
	return xmlSitemap(text)
}

func textSitemap(r io.Reader) (urls []string) {
	for lines := bufio.NewScanner(r); lines.Scan() && len(urls) < maxSitemapURLs; {
		if u := strings.TrimSpace(lines.Text()); u != "" {
			urls = append(urls, u)
		}
	}
	return urls
}

// xmlSitemap reads each loc that is a child of a url or a sitemap: images and videos have some of their own.
func xmlSitemap(r io.Reader) (urls, sitemaps []string) {
	d := xml.NewDecoder(r)
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // URLs are ASCII
	var path []string
	for len(urls)+len(sitemaps) < maxSitemapURLs {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch token := token.(type) {
		case xml.StartElement:
			path = append(path, token.Name.Local)
		case xml.EndElement:
			if len(path) > 0 {
				path = path[:len(path)-1]
			}
		case xml.CharData:
			u := string(bytes.TrimSpace(token))
			if len(path) < 2 || path[len(path)-1] != "loc" || u == "" {
				continue
			}
			switch path[len(path)-2] {
			case "url":
				urls = append(urls, u)
			case "sitemap":
				sitemaps = append(sitemaps, u)
			}
		}
	}
	return urls, sitemaps
}
