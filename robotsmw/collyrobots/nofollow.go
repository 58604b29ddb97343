package collyrobots

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
)

// How nofollow is enforced:
//
// A crawler visits a link with Request.Visit of the page's Request, which calls
// the collector in that Request. Therefore the Request of a nofollow page gets
// a collector that refuses each link before it marks the URL as visited, so
// that the URL can still be visited from another page.
//
// Requests that are made by Collector.Request with the page's Ctx do not use
// the page's Request. The extension refuses them in OnRequest, where it
// identifies their page by the Ctx.

// ErrNoFollow is the error of a request that is made with the Request of a
// nofollow page, such as by Visit, Post or Do, but not by Retry. It is also the
// error that Extension.Follow returns for any link that must not be followed.
// It is wrapped in an error that names the page: use errors.Is to test for it.
// The requested URL stays unvisited. For a rel="nofollow" link, Request.Visit
// does not return it: see Extension.ObeyRelNoFollow.
var ErrNoFollow = errors.New("collyrobots: nofollow")

// newRefusingClone returns a clone of c that refuses visits. If c would refuse
// the visit too, such as by its URLFilters or because the URL was visited, the
// clone returns the error of c. Otherwise it returns the error of refuse.
//
// Colly checks the visited set after all other checks, and the clone refuses a
// visit there. Therefore the clone does not refuse a Retry, or a request
// without a body whose method is not GET, because colly does not check the
// visited set for these.
func newRefusingClone(c *colly.Collector, refuse func() error) *colly.Collector {
	own := c.Clone()
	own.Async, own.AllowURLRevisit = false, false
	own.CacheDir = "" // otherwise colly could return a cached page instead of the error
	store := visitedSet(own)
	*store = &refusingStore{*store, c.AllowURLRevisit, refuse}
	return own
}

// A refusingStore is a visited set to which no URL can be added.
type refusingStore struct {
	storage.Storage
	allowRevisit bool         // whether visited URLs count as not visited
	refuse       func() error // returns the error of adding a URL
}

func (s *refusingStore) IsVisited(id uint64) (bool, error) {
	if s.allowRevisit {
		return false, nil
	}
	return s.Storage.IsVisited(id)
}

func (s *refusingStore) Visited(uint64) error { return s.refuse() }

// markNoFollow marks a page whose links must not be followed.
func (a *attachedCollector) markNoFollow(page *colly.Response) {
	r := page.Request
	a.pageMarks.put(r).noFollow.Store(true)
	page.Ctx = r.Ctx
	if !canReplaceVisitedSet() {
		return // checkAgainstMark aborts the requests for its links
	}
	if *requestCollector(r) != a.collector {
		return // onResponseHeaders has marked the page
	}
	pageURL := r.URL.String()
	refusal := func() error {
		a.tally(&a.counts.LinksRefused, 1)
		return fmt.Errorf("%w: the links of %s must not be followed", ErrNoFollow, pageURL)
	}
	refuse := newRefusingClone(a.collector, refusal)
	onRequestFirst(refuse, func(again *colly.Request) {
		s := seal(again)
		var err error
		if again.URL.String() != pageURL { // a HEAD or the like, for which colly does not check the visited set
			err = refusal()
		} else { // a Retry of the page itself, which the original collector makes
			retry := *again
			*requestCollector(&retry) = a.collector
			err = retry.Retry()
		}
		if failed, ok := err.(*url.Error); ok {
			err = failed.Err // the http.Client wraps it again
		}
		if err == nil || s == nil {
			again.Abort()
		} else {
			// guard.finishSeal makes the request fail with err, so that the
			// page's Retry returns the error of the original collector.
			s.refused = err
		}
	})
	*requestCollector(r) = refuse
}

// checkAgainstMark aborts r if the page with the mark k forbids it: if it is a
// nofollow page, or if r is for a rel=nofollow link of the page. Otherwise r
// gets its own mark, so that k does not affect the links of its response. This
// also applies if r requests the page itself again, because the directives may
// have changed. Requests that are still made from the earlier response have its
// Ctx and remain subject to k.
func (a *attachedCollector) checkAgainstMark(r *colly.Request, k *pageMark) {
	if !k.is(r) && k.refuses(r.URL.String()) {
		a.tally(&a.counts.LinksRefused, 1)
		r.Abort()
		return
	}
	a.pageMarks.putNew(r)
}

// markRelLinks marks the rel=nofollow links of a page.
func (a *attachedCollector) markRelLinks(page *colly.Response, directives robotsmw.Page) {
	if directives.Refusal.Sure || directives.State != robotsmw.PageComplete {
		return
	}
	links, err := pagelinks.FromHTML(context.Background(), page.Body, page.Request.URL, directives, nil)
	if err != nil {
		return // colly reports the error
	}
	urls := map[string]bool{}
	for _, l := range links.Links {
		urls[asSent(l.URL.String())] = true
	}
	for _, u := range links.Queue() {
		delete(urls, asSent(u.String()))
	}
	if len(urls) > 0 {
		a.pageMarks.put(page.Request).rel.Store(&urls)
		page.Ctx = page.Request.Ctx
	}
}
