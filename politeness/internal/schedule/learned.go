package schedule

import "time"

// Learned is what was learned from the responses of a host and its robots.txt.
type Learned struct {
	CrawlDelay time.Duration // the most recently declared Crawl-delay; 0 means none
	Adaptive   time.Duration // the adaptive delay
	PauseEnd   Time          // the end of the latest pause; Never if there was none
	Incident   Time          // when the latest incident began
	Level      uint8         // how many incidents lengthen the back-off; a good response subtracts one
	Latest     Class         // the class of the latest incident; Good after a good response

	pauseCause Reason // of the latest pause

	// CrawlDelayEnd is the end of the latest Crawl-delay. Another origin of the
	// host may have declared a shorter one since. Requests do not wait for it;
	// eviction and handoff do.
	CrawlDelayEnd Time

	// The quota that the host declares: all are 0 if it declares none.
	spread    time.Duration // the interval that spreads the quota over the time until it is renewed
	spreadEnd Time          // when the quota is renewed
}
