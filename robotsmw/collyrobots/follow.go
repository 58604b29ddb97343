package collyrobots

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gocolly/colly/v2"
)

// Visit is like Collector.Visit for the collector that Attach was given, but
// asks robots.txt first. A refused URL stays unvisited, so it can be visited
// later if robots.txt changes. It does not count for MaxRequests. Visit may
// have to wait for robots.txt, on asynchronous collectors too. It does not ask
// robots.txt about a URL that the collector would not visit anyway.
func (x *Extension) Visit(URL string) error {
	if err := x.precheck(x.first, URL, 1); err != nil {
		return err
	}
	return x.first.Visit(URL)
}

// ask returns the error with which the collector or robots.txt would refuse a
// request for URL, or nil. It leaves the URL unvisited.
func (x *Extension) precheck(c *colly.Collector, URL string, depth int) error {
	target := absoluteBase.AbsoluteURL(URL)
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil // colly reports what is wrong with the URL
	}
	if canReplaceVisitedSet() {
		errWould := errors.New("the collector would visit it")
		try := &colly.Request{Method: http.MethodGet, URL: u, Depth: depth, Headers: new(http.Header)}
		*requestCollector(try) = newRefusingClone(c, func() error { return errWould })
		if err := try.Do(); err != errWould {
			return err
		}
	}
	if err := x.decide(c, u); errors.Is(err, colly.ErrRobotsTxtBlocked) {
		return err
	}
	return nil // any other error: the request will fail with it too, and OnError gets it
}

// WillRepeat reports, in an OnError handler, whether the extension repeats the
// request that has failed, because of PutBack or RetryThrottled. The handler
// should then not repeat it: a Retry only returns the error. In all other
// places, WillRepeat returns false.
func (x *Extension) WillRepeat(r *colly.Request) bool {
	b, ok := r.Body.(*repeatMark)
	return ok && b.willRepeat
}

// Follow visits the href of an element, like Request.Visit, but asks robots.txt
// first. If robots.txt refuses the URL, Follow returns the error that
// Extension.Visit returns for it. If AbsoluteURL returns "" because of
// nofollow, Follow returns an ErrNoFollow. In both cases the URL stays
// unvisited.
func (x *Extension) Follow(e *colly.HTMLElement) error {
	target := e.Request.AbsoluteURL(e.Attr("href"))
	if target == "" {
		return fmt.Errorf("collyrobots: the element %s has no href to follow", e.Name)
	}
	if x.AbsoluteURL(e.Request, target) == "" {
		return fmt.Errorf("%w: the page %s says so of its link to %s", ErrNoFollow, e.Request.URL, target)
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
// be followed. If the page says nofollow, none of its links may be followed.
// With ObeyRelNoFollow, a link must not be followed if all links of the page to
// that URL have rel="nofollow". Collector.Visit and colly's queue refuse "". So
// a crawler that does not call Request.Visit needs only this change:
//
//	c.Visit(e.Request.AbsoluteURL(href))        // before
//	c.Visit(ext.AbsoluteURL(e.Request, href))   // after
//	q.AddURL(ext.AbsoluteURL(e.Request, href))  // after, with a queue
//
// In a callback, Queue.AddURL does not wake the queue's threads that have no
// work: they wait until no thread has any. Queue.AddRequest wakes one, as in
// the Example, but blocks for ever while the queue does not run. So use AddURL
// with PutBack, where Extension.Wait calls callbacks too, and on an
// asynchronous collector.
func (x *Extension) AbsoluteURL(page *colly.Request, href string) string {
	target := page.AbsoluteURL(href)
	if k := x.pageMarks.forPage(page); target != "" && k != nil && k.refuses(target) {
		x.tally(&x.counts.LinksRefused, 1)
		return ""
	}
	return target
}
