package schedule

import "time"

// Settings are what the user has configured for a host. Hosts with the same
// settings share one Settings, which does not change. Zero values are not
// replaced by defaults: the caller has already done that.
type Settings struct {
	Delay         time.Duration // the least interval between two starts
	CrawlDelay    time.Duration // positive: instead of any other; 0: the declared one; negative: none
	MaxCrawlDelay time.Duration // requests are rejected instead of waiting for a longer Crawl-delay
	EndToStart    bool          // intervals count from the end of a request too
	Jitter        float64       // the fraction by which an interval is lengthened at most
	Adaptive      float64       // the adaptive delay in response times; 0 means off
	BackOff       time.Duration // the first pause after a 429 or the like; 0 means none
	MaxBackOff    time.Duration // the longest pause that doubling BackOff can reach
	Concurrency   int32         // how many requests may be in flight

	// Random returns a number in [0, 1) for Jitter and the random part of a
	// back-off.
	Random func() float64
}
