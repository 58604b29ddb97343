package collyrobots

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gocolly/colly/v2"
)

// Visit is like Collector.Visit of the collector that Attach was given, but
// checks robots.txt first. A URL that is refused stays unvisited, so that it
// can be visited later if robots.txt changes, and does not count toward
// MaxRequests. The error of the refusal is only returned: OnError and OnBlocked
// are not called, and the refusal is not included in Counts. Visit may block
// while robots.txt is fetched, even if the collector is asynchronous. It does
// not fetch robots.txt for a URL that the collector would not visit.
func (x *Extension) Visit(URL string) error {
	if err := x.precheck(x.first, URL, 1); err != nil {
		return err
	}
	return x.first.Visit(URL)
}

// precheck returns an error if the collector or robots.txt would refuse a
// request for URL. It leaves the URL unvisited.
func (x *Extension) precheck(c *colly.Collector, URL string, depth int) error {
	target := absoluteBase.AbsoluteURL(URL)
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil // Collector.Visit returns the error
	}
	if canReplaceVisitedSet() {
		errWouldVisit := errors.New("the collector would visit the URL")
		try := &colly.Request{Method: http.MethodGet, URL: u, Depth: depth, Headers: new(http.Header)}
		*requestCollector(try) = newRefusingClone(c, func() error { return errWouldVisit })
		if err := try.Do(); err != errWouldVisit {
			return err
		}
	}
	if err := x.decide(c, u); errors.Is(err, colly.ErrRobotsTxtBlocked) {
		return err
	}
	return nil // the request will fail with any other error too, and OnError will receive it
}

// WillRepeat reports, in an OnError handler, whether the extension repeats the
// request that has failed, because of PutBack or RetryThrottled. The handler
// should then not repeat the request: a Retry only returns the error. If
// MaxRequests allows no further request (see PutBack), or if the body cannot be
// sent twice, the repeat is not sent, OnError is not called again, and
// Counts.GivenUp counts the request. Outside OnError handlers, WillRepeat
// returns false.
func (x *Extension) WillRepeat(r *colly.Request) bool {
	b, ok := r.Body.(*repeatMark)
	return ok && b.willRepeat
}

// Follow visits the href of an element like Request.Visit, but checks
// robots.txt first. If robots.txt disallows the URL, Follow returns the error
// that Extension.Visit would return. If the link must not be followed because
// of nofollow, Follow returns an error that wraps ErrNoFollow. In both cases,
// the URL stays unvisited. Follow also returns an error if the element has no
// href.
func (x *Extension) Follow(e *colly.HTMLElement) error {
	target := e.Request.AbsoluteURL(e.Attr("href"))
	if target == "" {
		return fmt.Errorf("collyrobots: the element %s has no href to follow", e.Name)
	}
	if x.AbsoluteURL(e.Request, target) == "" {
		return fmt.Errorf("%w: the link from %s to %s must not be followed", ErrNoFollow, e.Request.URL, target)
	}
	c := x.first
	if canReplaceVisitedSet() {
		c = *requestCollector(e.Request)
	}
	if err := x.precheck(c, target, e.Request.Depth+1); err != nil {
		return err
	}
	return e.Request.Visit(target)
}

// AbsoluteURL is like page.AbsoluteURL, but returns "" for a link that must not
// be followed. On a page with a nofollow directive, these are all links. With
// ObeyRelNoFollow, they also include links with rel="nofollow", unless the page
// has another link to the same URL without it. Because Collector.Visit and
// colly's queue refuse "", a crawler that does not call Request.Visit needs
// only this change:
//
//	c.Visit(e.Request.AbsoluteURL(href))        // before
//	c.Visit(ext.AbsoluteURL(e.Request, href))   // after
//	q.AddURL(ext.AbsoluteURL(e.Request, href))  // after, with a queue
//
// In a callback, Queue.AddURL does not wake idle threads of the queue, which
// wait until all threads are idle. Queue.AddRequest wakes one, as in the
// Example, but blocks forever while the queue is not running. Therefore
// callbacks should use AddURL on asynchronous collectors, and also with
// PutBack, because Extension.Wait may then call them while the queue is not
// running.
func (x *Extension) AbsoluteURL(page *colly.Request, href string) string {
	target := page.AbsoluteURL(href)
	if k := x.pageMarks.forPage(page); target != "" && k != nil && k.refuses(target) {
		x.tally(&x.counts.LinksRefused, 1)
		return ""
	}
	return target
}
