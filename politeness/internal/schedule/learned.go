package schedule

import "time"

// Learned is what was learned from the responses of a host and its robots.txt.
// It is kept until the host is evicted. The comment of each field names the
// functions that change it. Export determines which fields the next owner of a
// host in a fleet receives.
type Learned struct {
	// CrawlDelay is the most recently declared Crawl-delay. 0 means none.
	// Declare and Import set it.
	CrawlDelay time.Duration

	// CrawlDelayEnd is the end of the latest Crawl-delay that was in force when
	// the intervals were restarted (see RestartIntervals), or Never. Another
	// origin of the host may have declared a shorter one since. Requests do not
	// wait for CrawlDelayEnd itself. Eviction waits for it, but for no longer
	// than maxOrdinaryCrawlDelay, and Export hands over LastCrawlDelayStart
	// until then. RestartIntervals and Import set it if it becomes later.
	CrawlDelayEnd Time

	// Adaptive is the adaptive delay. adapt and Import set it.
	Adaptive time.Duration

	// PauseEnd is the end of the latest pause, and pauseCause is its reason.
	// Never means that there was none. A pause that would end earlier does not
	// replace it. pause and ImportBackOff set both.
	PauseEnd   Time
	pauseCause Reason

	// The back-off. backOff, recover and ImportBackOff change it.
	Level    uint8 // how many incidents lengthen the back-off: see exponential
	Latest   Class // the class of the latest incident; Good after a good response
	Incident Time  // when the latest incident began; Never if there was none

	// The quota that the host declared last. Both are 0 if it has never
	// declared one. From spreadEnd on, they have no effect. applyQuota sets
	// them, also for Import.
	spread    time.Duration // the interval that spreads the quota over the time until it is renewed
	spreadEnd Time          // when the quota is renewed
}

// newLearned returns a Learned of a host from which nothing was learned.
func newLearned() *Learned {
	return &Learned{CrawlDelayEnd: Never, PauseEnd: Never, Incident: Never}
}

// pause lets no request start before now + wait, for the given reason. It
// returns wait, or 0 if the host is already paused for at least as long.
func (k *Learned) pause(now Time, wait time.Duration, cause Reason) time.Duration {
	end := now.Add(wait)
	if end <= now || end <= k.PauseEnd {
		return 0
	}
	k.PauseEnd = end
	k.pauseCause = cause
	return wait
}
