// Package spider is a polite spider, in one function. The commands politespider
// and politespider/fleet run it, each with a state of its own around it.
package spider

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
)

// Crawl is the spider. It gets pages from the job, fetches them with colly, and
// reports each outcome to the job. Courtesy stands between colly and the
// network. Courtesy refuses requests that robots.txt disallows, and delays the
// others to keep each host's pace.
func Crawl(ctx context.Context, job *tool.Job) error {
	c := colly.NewCollector(colly.StdlibContext(ctx))
	c.AllowURLRevisit = true        // the job avoids duplicates, but requests a page again after a 503
	c.ParseHTTPErrorResponse = true // a response with an error status is no error
	c.DisableCookies()
	// Do not follow redirects here: the job queues the target as a new URL. So
	// no page is fetched twice, and each target waits for its own host.
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })

	opts := robotsmw.Options{
		UserAgent: job.UserAgent, // its first word is the crawler's name in robots.txt
		Base:      job.Base,
		// If Limiter is nil, each host gets one request a second, and one at a
		// time. In any case, Courtesy obeys a Retry-After, and a Crawl-delay
		// that is longer than Delay.
		Limiter: &politeness.Limiter{
			Delay:      job.Delay,
			EndToStart: job.FromEnd,
			Adaptive:   job.Adaptive,
			Budget:     job.Budget,
			MaxWait:    max(5*time.Second, 2*job.Delay), // a request that would wait longer gets a DelayError
			Fleet:      job.Fleet,                       // shares the pace with the crawl's other processes; nil if there are none
			Observer:   job.PaceObserver,
			Logger:     job.Logger,
		},
		Wrap:      job.Wrap,  // requests only pages that may have changed
		Store:     job.Store, // keeps robots.txt for the next run
		KeepFiles: true,      // the job reads sitemaps and usage preferences from robots.txt
		Observer:  job.Observer,
		Logger:    job.Logger,
	}
	if job.Card != nil {
		return job.Card(opts)
	}
	if err := job.Record(&opts); err != nil { // does nothing without -evidence
		return err
	}
	// From here on, every request of the collector obeys robots.txt and the
	// pace.
	ext, err := collyrobots.Attach(c, opts)
	if err != nil {
		return err
	}

	c.OnResponse(func(r *colly.Response) {
		visit := r.Ctx.GetAny("visit").(*tool.Visit)
		// Directives returns the directives of X-Robots-Tag and of
		// <meta name=robots>, such as noindex.
		directives := ext.Directives(r)
		visit.SetResponse(r, directives, ext.Checker().Tokens())
		if directives.State != robotsmw.PageComplete {
			return // not HTML, or not readable
		}
		// The job queues page.Queue(), without the links that nofollow or
		// rel=nofollow excludes.
		page, err := pagelinks.FromHTML(ctx, r.Body, r.Request.URL, directives, nil)
		visit.SetLinks(page, err)
	})

	var workers sync.WaitGroup
	for range job.Workers {
		workers.Go(func() {
			for visit := range job.Visits(ctx) { // waits until the host of a page is due
				page := colly.NewContext()
				page.Put("visit", visit)
				err := c.Request(http.MethodGet, visit.URL(), nil, page, visit.Header())
				// err may be a *robotsmw.DisallowedError, with the rule that
				// forbids the URL, or a *politeness.DelayError, with the time
				// at which the host is due.
				visit.End(ctx, err)
			}
		})
	}
	workers.Wait()
	return nil
}
