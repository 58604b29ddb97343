package main

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

func main() { tool.Main(crawl) }

// crawl is the spider. The job provides the next page, colly fetches it, and
// the job is told what became of it. Courtesy stands between colly and the
// network: it sends no request that robots.txt disallows, and none before its
// host's pace allows it.
func crawl(ctx context.Context, job *tool.Job) error {
	c := colly.NewCollector(colly.StdlibContext(ctx))
	c.AllowURLRevisit = true        // the job knows what was fetched; a 503 may be tried again
	c.ParseHTTPErrorResponse = true // only a page without a response is an error
	c.DisableCookies()
	// Each redirect leads to a URL that the job queues. So no page is fetched
	// twice, and each waits for its own host.
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })

	opts := robotsmw.Options{
		UserAgent: job.UserAgent, // its first word is the crawler's name in robots.txt
		Base:      job.Base,      // nil: http.DefaultTransport
		// Without a Limiter, each host gets one request at a time and one a
		// second. A longer Crawl-delay and Retry-After are obeyed in any case.
		Limiter: &politeness.Limiter{
			Delay:      job.Delay,
			EndToStart: job.FromEnd,
			Adaptive:   politeness.Adaptive{Factor: job.Adaptive},
			Budget:     job.Budget,
			MaxWait:    max(5*time.Second, 2*job.Delay), // a longer wait is a DelayError
			Fleet:      job.Fleet,                       // the other processes of the same crawl
			Observer:   job.PaceObserver,
			Logger:     job.Logger,
		},
		Store:     job.Store, // keeps robots.txt for the next run
		KeepFiles: true,      // what robots.txt files say about uses is needed
		Observer:  job.Observer,
		Logger:    job.Logger,
	}
	if job.Card { // print who would crawl, and do not crawl
		return job.PrintCard(opts)
	}
	if err := job.Record(&opts); err != nil { // if -evidence is given
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
		// noindex, nofollow and the like, from X-Robots-Tag and <meta
		// name=robots>.
		says := ext.Directives(r)
		visit.Hear(r, says, ext.Checker().Tokens())
		if says.State != robotsmw.PageComplete {
			return // not HTML, or not readable
		}
		// page.Queue() leaves out links that the page or rel=nofollow excludes.
		page, err := pagelinks.FromHTML(ctx, r.Body, r.Request.URL, says, pagelinks.Options{})
		visit.Follow(page, err)
	})

	var workers sync.WaitGroup
	for range job.Workers {
		workers.Go(func() {
			for visit := range job.Visits(ctx) { // each when its host is due
				page := colly.NewContext()
				page.Put("visit", visit)
				err := c.Request(http.MethodGet, visit.URL(), nil, page, nil)
				// A *robotsmw.DisallowedError has the rule that forbids the
				// URL, and its line. A *politeness.DelayError has the time at
				// which the host may be asked.
				visit.End(ctx, err)
			}
		})
	}
	workers.Wait()
	return nil
}
