package collyrobots

import (
	"fmt"
	"strings"

	"github.com/gocolly/colly/v2"
)

// Visit is Collector.Visit for the collector that Attach was given, but asks
// robots.txt first: a URL that is refused stays unvisited, so that it can be
// visited when that changes, and costs none of MaxRequests. It may therefore
// wait for robots.txt, on asynchronous collectors too.
func (x *Extension) Visit(URL string) error {
	c := x.first
	if err := x.ask(c, URL); err != nil {
		return err
	}
	return c.Visit(URL)
}

// NoFollowError is what Follow returns for a link that may not be followed. It
// is not marked as visited.
type NoFollowError struct {
	URL  string // absolute
	Page string // where the link is
	Rel  bool   // the link says so; else the whole page does
}

func (e *NoFollowError) Error() string {
	if e.Rel {
		return fmt.Sprintf("collyrobots: the link from %s to %s is rel=nofollow", e.Page, e.URL)
	}
	return fmt.Sprintf("collyrobots: the page %s says nofollow, so its link to %s is not followed", e.Page, e.URL)
}

// Follow visits the href of an element as Request.Visit does, unless the page
// or (with ObeyRelNoFollow) the element itself says nofollow, or robots.txt
// refuses it. In each of these cases the URL stays unvisited. The error is then
// a *NoFollowError, or the same as from Visit.
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
	c := x.first
	if err := x.ask(c, target); err != nil {
		return err
	}
	return e.Request.Visit(target)
}

// AbsoluteURL is page.AbsoluteURL for a link that is to be followed: "" if the
// page says nofollow or, with ObeyRelNoFollow, if it links there with
// rel="nofollow" alone. Collector.Visit and colly's queue refuse "", so it is
// the one word to change where a crawler does not call Request.Visit:
//
//	c.Visit(e.Request.AbsoluteURL(href))  // before
//	c.Visit(ext.AbsoluteURL(e.Request, href))
//	q.AddURL(ext.AbsoluteURL(e.Request, href))
func (x *Extension) AbsoluteURL(page *colly.Request, href string) string {
	target := page.AbsoluteURL(href)
	if k := x.marks.ofPage(page); target != "" && k != nil && (k.noFollow.Load() || k.saysRel(target)) {
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
