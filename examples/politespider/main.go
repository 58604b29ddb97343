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

// crawl is the spider. The job says which page is next and hears what became
// of it; colly fetches it. Courtesy stands between colly and the network:
// nothing is sent that robots.txt disallows, or sooner than the host's pace.
func crawl(ctx context.Context, job *tool.Job) error {
	c := colly.NewCollector(colly.StdlibContext(ctx))
	c.AllowURLRevisit = true        // the job knows what was fetched; 503 gets a second try
	c.ParseHTTPErrorResponse = true // only a page without a response is an error
	c.DisableCookies()
	// A redirect leads to a URL of its own. The job queues it, so that no page
	// is fetched twice, and each waits for its own host.
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })

	opts := robotsmw.Options{
		UserAgent: job.UserAgent, // robots.txt knows us by its first word
		Base:      job.Base,      // nil: http.DefaultTransport
		// Without a Limiter each host gets one request at a time, and one a
		// second. A longer Crawl-delay and a Retry-After count in any case.
		Limiter: &politeness.Limiter{
			Delay:    job.Delay,
			Adaptive: politeness.Adaptive{Factor: job.Adaptive},
			Budget:   job.Budget,
			MaxWait:  max(5*time.Second, 2*job.Delay), // a longer wait is a DelayError
			Fleet:    job.Fleet,                       // other processes of the same crawl
			Observer: job.PaceObserver,
			Logger:   job.Logger,
		},
		Store:     job.Store, // keeps robots.txt for the next run
		KeepFiles: true,      // for what they say about the use of pages
		Observer:  job.Observer,
		Logger:    job.Logger,
	}
	if job.Card { // say who would crawl, and how, instead of crawling
		return job.PrintCard(opts)
	}
	if err := job.Record(&opts); err != nil { // where -evidence asks for it
		return err
	}
	// From here on, whatever the collector sends obeys robots.txt and the pace.
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
		// page.Queue() leaves out what the page or rel=nofollow excludes.
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
				// A *robotsmw.DisallowedError has the rule that says no, and
				// its line. A *politeness.DelayError has the time at which the
				// host may be asked.
				visit.End(ctx, err)
			}
		})
	}
	workers.Wait()
	return nil
}
