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

// crawl is the spider. The job says what is next and hears what became of it,
// colly fetches it, and Courtesy stands between colly and the network: whatever
// the job hands out, nothing disallowed is sent, and nothing too soon.
func crawl(ctx context.Context, job *tool.Job) error {
	c := colly.NewCollector(colly.StdlibContext(ctx))
	c.AllowURLRevisit = true        // the job knows what was fetched, and a 429 wants a second try
	c.ParseHTTPErrorResponse = true // so an error means that there is no answer at all
	c.DisableCookies()
	// A redirect leads to a URL of its own: the job queues it, so that no page
	// is fetched twice, and it waits for its own host.
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })

	// From here on robots.txt is fetched, kept and obeyed for every request.
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: job.UserAgent, // its first word is the name that robots.txt knows us by
		Base:      job.Base,      // what really sends; nil would do
		Limiter: &politeness.Limiter{ // nil would do: one request a second and host
			Delay:    job.Delay, // a longer Crawl-delay and Retry-After are kept as well
			Adaptive: politeness.Adaptive{Factor: job.Adaptive},
			MaxWait:  max(5*time.Second, 2*job.Delay), // what takes longer is the job's to wait for
			Shared:   job.Fleet,                       // keeps one pace with the other processes of this crawl
			Observer: job.PaceObserver,
			Logger:   job.Logger,
		},
		Store:     job.Store, // keeps robots.txt for the next run
		KeepFiles: true,      // for what they say about the use of pages
		Observer:  job.Observer,
		Logger:    job.Logger,
	})
	if err != nil {
		return err
	}

	c.OnResponse(func(r *colly.Response) {
		visit := r.Ctx.GetAny("visit").(*tool.Visit)
		says := ext.Directives(r) // noindex, nofollow and so on: of X-Robots-Tag and <meta> together
		visit.Hear(r, says, ext.Checker().Tokens())
		if says.State == robotsmw.PageComplete { // it is HTML, and was looked at
			// Of its links, Queue lists those that neither page nor rel=nofollow excludes.
			visit.Follow(pagelinks.FromHTML(ctx, r.Body, r.Request.URL, says, pagelinks.Options{}))
		}
	})

	var workers sync.WaitGroup
	for range job.Workers {
		workers.Go(func() {
			for visit := range job.Visits(ctx) { // waits until a page's host is due
				page := colly.NewContext()
				page.Put("visit", visit)
				err := c.Request(http.MethodGet, visit.URL(), nil, page, nil)
				// A *robotsmw.DisallowedError knows the line of robots.txt that says no, and a
				// *politeness.DelayError until when its host is to be left alone.
				visit.End(ctx, err)
			}
		})
	}
	workers.Wait()
	return nil
}
