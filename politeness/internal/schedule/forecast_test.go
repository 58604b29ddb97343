package schedule

import (
	"fmt"
	"testing"
	"time"
)

// Each row is a queue at the time 10 s. The latest start was that of a page at
// 9 s, so the interval is over. want is the estimate of a request that joins.
// If the requests take no time and no other joins, it starts at that time.
func TestHost_ForecastAtEnd(t *testing.T) {
	requests := func(kind string, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint(kind, " ", i+1000))
		}
		return names
	}
	for _, tt := range []struct {
		name          string
		pages, robots int
		lastWasRobots bool
		crawlDelay    time.Duration // of the host
		joins         string
		own           time.Duration // the Crawl-delay that the request which joins declares
		want          Time
	}{
		{name: "no request waits", joins: "page 80", want: 10 * s},
		{name: "behind pages", pages: 5, joins: "page 80", want: 15 * s},
		{name: "behind pages with a Crawl-delay", pages: 5, crawlDelay: 3 * s, joins: "page 80", want: 27 * s},
		{name: "a robots.txt before the page", robots: 1, joins: "page 80", want: 11 * s},
		{name: "many robots.txt", robots: 1000, joins: "page 80", want: 11 * s},
		{name: "many robots.txt, and it is the page's turn", robots: 1000, lastWasRobots: true, joins: "page 80", want: 10 * s},
		{name: "one robots.txt before each page", pages: 5, robots: 1000, joins: "page 80", want: 21 * s},
		{name: "the same, and it is the pages' turn", pages: 5, robots: 1000, lastWasRobots: true, joins: "page 80", want: 20 * s},
		{name: "fewer robots.txt than pages", pages: 5, robots: 2, joins: "page 80", want: 17 * s},
		{name: "robots.txt between pages with a long Crawl-delay", pages: 5, robots: 1000, crawlDelay: 4 * s, joins: "page 80", want: 33 * s},
		{name: "robots.txt between pages with a short Crawl-delay", pages: 5, robots: 1000, crawlDelay: 1500 * ms, joins: "page 80", want: 20500 * ms},
		{name: "robots.txt before a page with a longer Crawl-delay", pages: 1, robots: 2, joins: "page 80", own: 4 * s, want: 15 * s},
		{name: "a robots.txt behind others", robots: 3, joins: "robots 80", want: 13 * s},
		{name: "a robots.txt behind others and between pages", pages: 1000, robots: 3, joins: "robots 80", want: 16 * s},
		{name: "the same, and it is the pages' turn", pages: 1000, robots: 3, lastWasRobots: true, joins: "robots 80", want: 17 * s},
		{name: "a robots.txt that the first page needs", pages: 1000, robots: 3, lastWasRobots: true, joins: "robots 1000", want: 10 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := testHost()
			h.start(9*s, &Request{CrawlDelay: tt.crawlDelay})
			h.Finish(9*s, h.OldestInFlight())
			if tt.crawlDelay > 0 {
				h.Learn().CrawlDelay = tt.crawlDelay
			}
			for _, name := range requests("page", tt.pages) {
				h.Enqueue(10*s, waitingRequest(name), new(Spare))
			}
			for _, name := range requests("robots", tt.robots+5000)[5000:] { // of other origins than the pages'
				h.Enqueue(10*s, waitingRequest(name), new(Spare))
			}
			h.lastWasRobots = tt.lastWasRobots
			r := waitingRequest(tt.joins)
			r.CrawlDelay = tt.own
			if got := h.ForecastAtEnd(10*s, r, Anytime).Estimate; got != tt.want {
				t.Errorf("the estimated start is %v, want %v", time.Duration(got), time.Duration(tt.want))
			}
		})
	}
}

// The estimate of a request is never later than its start, whatever the
// Crawl-delays, the robots.txt requests and their durations.
func TestHost_EstimateIsNotTooLate(t *testing.T) {
	for seed := range 500 {
		h := testHost()
		draw := func(n int) int { // some number below n
			seed = (seed*1103515245 + 12345) & (1<<31 - 1)
			return (seed >> 8) % n
		}
		h.Learn().CrawlDelay = time.Duration(draw(4)) * 700 * ms
		var last *Request
		var estimate Time
		for i := range 1 + draw(20) {
			kind := "page"
			if draw(2) == 0 {
				kind = "robots"
			}
			last = waitingRequest(fmt.Sprint(kind, " ", i))
			if !last.Exempt {
				last.CrawlDelay = time.Duration(draw(5)) * 800 * ms
			}
			estimate = h.ForecastAtEnd(0, last, Anytime).Estimate
			h.Enqueue(0, last, new(Spare))
		}
		now := Time(0)
		for {
			r := h.Next(now)
			if r == nil {
				now += 50 * ms
				continue
			}
			h.Dequeue(r, new(Spare))
			h.Start(now, r, time.Hour)
			if r == last {
				break
			}
			now = now.Add(time.Duration(draw(6)) * 550 * ms)
			h.Finish(now, r)
		}
		if estimate > now {
			t.Errorf("a request was estimated to start at %v, and started at %v, want no earlier start than estimated", time.Duration(estimate), time.Duration(now))
		}
	}
}
