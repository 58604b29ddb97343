package collyrobots

import (
	"fmt"
	"strings"

	"github.com/gocolly/colly/v2"
)

// Visit is like Collector.Visit for the collector that Attach was given, but
// asks robots.txt first. A refused URL stays unvisited, so it can be visited
// later if robots.txt changes. It does not count for MaxRequests. Visit may
// have to wait for robots.txt, on asynchronous collectors too.
func (x *Extension) Visit(URL string) error {
	c := x.first
	if err := x.ask(c, URL); err != nil {
		return err
	}
	return c.Visit(URL)
}

// NoFollowError is the error of Follow for a link that may not be followed. The
// link's URL stays unvisited.
type NoFollowError struct {
	URL  string // the link's absolute URL
	Page string // the URL of the page that has the link
	Rel  bool   // whether the link says nofollow; if not, the page does
}

func (e *NoFollowError) Error() string {
	if e.Rel {
		return fmt.Sprintf("collyrobots: the link from %s to %s is rel=nofollow", e.Page, e.URL)
	}
	return fmt.Sprintf("collyrobots: the page %s says nofollow, so its link to %s is not followed", e.Page, e.URL)
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
	c := x.first
	if err := x.ask(c, target); err != nil {
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
