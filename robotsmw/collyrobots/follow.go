package collyrobots

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gocolly/colly/v2"
)

// Visit is like Collector.Visit for the collector that Attach was given, but
// asks robots.txt first. A refused URL stays unvisited, so it can be visited
// later if robots.txt changes. It does not count for MaxRequests. Visit may
// have to wait for robots.txt, on asynchronous collectors too. It does not ask
// robots.txt about a URL that the collector would not visit anyway.
func (x *Extension) Visit(URL string) error {
	if err := x.ask(x.first, URL, 1); err != nil {
		return err
	}
	return x.first.Visit(URL)
}

// ask returns the error with which the collector or robots.txt would refuse a
// request for URL, or nil. It leaves the URL unvisited.
func (x *Extension) ask(c *colly.Collector, URL string, depth int) error {
	target := anywhere.AbsoluteURL(URL)
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil // colly reports what is wrong with the URL
	}
	if err := refuses(c, u, depth); err != nil {
		return err
	}
	u.Fragment, u.RawFragment = "", ""
	if err := x.decide(c, u); errors.Is(err, colly.ErrRobotsTxtBlocked) {
		return err
	}
	return nil // any other error: the request will fail with it too, and OnError gets it
}

// refuses returns the error with which the collector itself would refuse a GET.
// These are the checks and errors of colly.
func refuses(c *colly.Collector, u *url.URL, depth int) error {
	matches := func(filter *regexp.Regexp) bool { return filter.MatchString(u.String()) }
	switch domain := u.Hostname(); {
	case c.MaxDepth > 0 && c.MaxDepth < depth:
		return colly.ErrMaxDepth
	case slices.ContainsFunc(c.DisallowedURLFilters, matches):
		return colly.ErrForbiddenURL
	case len(c.URLFilters) > 0 && !slices.ContainsFunc(c.URLFilters, matches):
		return colly.ErrNoURLFiltersMatch
	case slices.Contains(c.DisallowedDomains, domain), len(c.AllowedDomains) > 0 && !slices.Contains(c.AllowedDomains, domain):
		return colly.ErrForbiddenDomain
	case c.AllowURLRevisit:
		return nil
	}
	visited, err := c.HasVisited(u.String())
	if err == nil && visited {
		err = &colly.AlreadyVisitedError{Destination: u}
	}
	return err
}

// NoFollowError is the error of Follow for a link that may not be followed. The
// link's URL stays unvisited.
type NoFollowError struct {
	URL  string // the link's absolute URL; "" if a method of the page's Request was refused
	Page string // the URL of the page that has the link
	Rel  bool   // whether the link says nofollow; if not, the page does
}

func (e *NoFollowError) Error() string {
	if e.Rel {
		return fmt.Sprintf("collyrobots: the link from %s to %s is rel=nofollow", e.Page, e.URL)
	}
	return fmt.Sprintf("collyrobots: the page %s says nofollow, so its link to %s is not followed", e.Page, cmp.Or(e.URL, "another page"))
}

// Follow visits the href of an element, like Request.Visit. If the page says
// nofollow, Follow returns a *NoFollowError. With ObeyRelNoFollow, Follow also
// returns this error for an element with rel="nofollow". If robots.txt refuses
// the URL, Follow returns the error that Extension.Visit returns for it. In all
// these cases the URL stays unvisited.
func (x *Extension) Follow(e *colly.HTMLElement) error {
	target := e.Request.AbsoluteURL(e.Attr("href"))
	if target == "" {
		return fmt.Errorf("collyrobots: the element %s has no href to follow", e.Name)
	}
	if k := x.marks.ofPage(e.Request); k != nil && k.noFollow.Load() {
		x.count.linksRefused.Add(1)
		return &NoFollowError{URL: target, Page: e.Request.URL.String()}
	}
	if x.ObeyRelNoFollow && hasNoFollow(e.Attr("rel")) {
		x.count.linksRefused.Add(1)
		return &NoFollowError{URL: target, Page: e.Request.URL.String(), Rel: true}
	}
	if err := x.ask(*ownerOf(e.Request), target, e.Request.Depth+1); err != nil {
		return err
	}
	return e.Request.Visit(target)
}

// AbsoluteURL is like page.AbsoluteURL, but returns "" for a link that must not
// be followed. If the page says nofollow, none of its links may be followed.
// With ObeyRelNoFollow, a link must not be followed if all links of the page to
// that URL have rel="nofollow". Collector.Visit and colly's queue refuse "". So
// a crawler that does not call Request.Visit needs only this change:
//
//	c.Visit(e.Request.AbsoluteURL(href))        // before
//	c.Visit(ext.AbsoluteURL(e.Request, href))   // after
//	q.AddURL(ext.AbsoluteURL(e.Request, href))  // after, with a queue
func (x *Extension) AbsoluteURL(page *colly.Request, href string) string {
	target := page.AbsoluteURL(href)
	if k := x.marks.ofPage(page); target != "" && k != nil && k.refuses(target) {
		x.count.linksRefused.Add(1)
		return ""
	}
	return target
}

func hasNoFollow(rel string) bool {
	for token := range strings.FieldsFuncSeq(rel, func(r rune) bool { return r == ',' || strings.ContainsRune(" \t\n\f\r", r) }) {
		if strings.EqualFold(token, "nofollow") {
			return true
		}
	}
	return false
}
