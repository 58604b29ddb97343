package schedule

import (
	"testing"
	"time"
)

// Each row is a sequence of starts. The last request is due at the given time,
// for the given reason.
func TestHost_Due(t *testing.T) {
	page := Request{}
	robots := Request{Exempt: true, Overtakes: true}
	slow := Request{Declared: true, CrawlDelay: 10 * s}
	quick := Request{Declared: true}
	type start struct {
		at Time
		r  Request
	}
	for _, tt := range []struct {
		name   string
		edit   func(*Settings)
		starts []start
		next   Request
		due    Time
		why    Reason
	}{
		{"no request before it", nil, nil, page, Anytime, ReasonDelay},
		{"Delay after the latest start", nil, []start{{5 * s, page}}, page, 6 * s, ReasonDelay},
		{"Crawl-delay after the latest start", nil, []start{{5 * s, slow}}, slow, 15 * s, ReasonCrawlDelay},
		{"the host's Crawl-delay binds a request that declares none", nil, []start{{5 * s, slow}}, page, 15 * s, ReasonCrawlDelay},
		{"robots.txt keeps Delay only", nil, []start{{5 * s, slow}}, robots, 6 * s, ReasonDelay},
		{"Crawl-delay does not count from robots.txt", nil, []start{{5 * s, slow}, {14*s + 500*ms, robots}}, slow, 15*s + 500*ms, ReasonDelay},
		{"a Crawl-delay that is no longer declared", nil, []start{{5 * s, slow}, {15 * s, quick}}, page, 16 * s, ReasonDelay},
		{"a Crawl-delay that the settings replace by a shorter one", func(set *Settings) { set.CrawlDelay = 2 * s }, []start{{5 * s, slow}}, slow, 7 * s, ReasonCrawlDelay},
		{"a Crawl-delay that the settings replace by a longer one", func(set *Settings) { set.CrawlDelay = 20 * s }, []start{{5 * s, quick}}, page, 25 * s, ReasonCrawlDelay},
		{"a Crawl-delay that the settings turn off", func(set *Settings) { set.CrawlDelay = -1 }, []start{{5 * s, slow}}, slow, 6 * s, ReasonDelay},
		{"full Jitter", func(set *Settings) { set.Jitter, set.Random = 0.5, func() float64 { return 1 } }, []start{{5 * s, page}}, page, 6*s + 500*ms, ReasonDelay},
		{"no Delay", func(set *Settings) { set.Delay = 0 }, []start{{5 * s, page}}, page, 5 * s, ReasonDelay},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := testHost()
			if tt.edit != nil {
				h = testHost(tt.edit)
			}
			for _, start := range tt.starts {
				h.Declare(&start.r)
				h.start(start.at, &start.r)
			}
			if due, why := h.Due(&tt.next), h.WhyDue(&tt.next); due != tt.due || why != tt.why {
				t.Errorf("the next request is due at %v for reason %d, want %v for reason %d", time.Duration(due), why, time.Duration(tt.due), tt.why)
			}
		})
	}
}

// A Crawl-delay allows one request in flight, whoever declared it.
func TestHost_Slots(t *testing.T) {
	slow := &Request{Declared: true, CrawlDelay: s}
	for _, tt := range []struct {
		name       string
		learned    *Request
		crawlDelay time.Duration // of the settings
		next       *Request
		want       int32
	}{
		{"no Crawl-delay", nil, 0, &Request{}, 4},
		{"the request declares one", nil, 0, slow, 1},
		{"the host has one", slow, 0, &Request{}, 1},
		{"the host has one, and robots.txt is fetched", slow, 0, &Request{Exempt: true}, 1},
		{"the settings turn it off", slow, -1, slow, 4},
	} {
		h := testHost(func(set *Settings) { set.Concurrency, set.CrawlDelay = 4, tt.crawlDelay })
		if tt.learned != nil {
			h.Declare(tt.learned)
		}
		if got := h.Slots(tt.next); got != tt.want {
			t.Errorf("%s: Slots = %d, want %d", tt.name, got, tt.want)
		}
	}
}
