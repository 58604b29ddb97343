package schedule

import "time"

// After a request has started, the next one has to keep two intervals: the
// Delay, which counts from LastStart, and the Crawl-delay, which counts from
// LastCrawlDelayStart. Exempt requests, which keep no Crawl-delay, do not
// change LastCrawlDelayStart. Jitter lengthens both. Due combines them with
// pause and quota.

// Delay returns the delay that every request to h keeps: Settings.Delay or the
// adaptive delay, whichever is longer.
func (h *Host) Delay() time.Duration {
	if h.Learned == nil {
		return h.Settings.Delay
	}
	return max(h.Settings.Delay, h.Learned.Adaptive)
}

// CrawlDelay returns the Crawl-delay that r keeps. An exempt request has none.
//
// A Crawl-delay that is longer than Settings.MaxCrawlDelay is not shortened: r
// is rejected instead of waiting for it (see exceedsMaxCrawlDelay in
// forecast.go). A host with a Crawl-delay has only one slot (see Slots).
func (h *Host) CrawlDelay(r *Request) time.Duration {
	if r.Exempt {
		return 0
	}
	return h.crawlDelayInForce(r.CrawlDelay)
}

// crawlDelayInForce returns the Crawl-delay that is in force for a request that
// declares one, or 0. It is the declared one or the most recent one of the
// host, whichever is longer. Therefore a request that was queued before
// robots.txt was read keeps the host's Crawl-delay too. Settings.CrawlDelay
// replaces both.
func (h *Host) crawlDelayInForce(declared time.Duration) time.Duration {
	switch configured := h.Settings.CrawlDelay; {
	case configured > 0:
		return configured
	case configured < 0:
		return 0
	case h.Learned == nil:
		return declared
	}
	return max(declared, h.Learned.CrawlDelay)
}

// Interval returns the interval that r keeps, Jitter not included.
func (h *Host) Interval(r *Request) time.Duration { return max(h.Delay(), h.CrawlDelay(r)) }

// LongestInterval returns the longest interval, with Jitter, that a request may
// have to keep. A declared Crawl-delay above MaxCrawlDelay does not count,
// because the request is rejected instead. configured is the longest interval
// that PerHost sets for the host, or 0.
func (s *Settings) LongestInterval(configured time.Duration) time.Duration {
	longest := max(s.Delay, s.MaxCrawlDelay, configured)
	if s.Adaptive > 0 {
		longest = max(longest, MaxAdaptive)
	}
	return lengthen(longest, s.Jitter)
}

// LongestDelay returns the longest interval, with Jitter, at a later stage of a
// chain, where declared Crawl-delays and the adaptive delay do not exist.
// configured is as for LongestInterval.
func (s *Settings) LongestDelay(configured time.Duration) time.Duration {
	return lengthen(max(s.Delay, configured), s.Jitter)
}

// Due returns the time at which Delay, Crawl-delay, pause and quota all allow r
// to start.
func (h *Host) Due(r *Request) Time {
	due := max(h.DelayEnd(), h.CrawlDelayDue(r))
	if h.Learned != nil {
		due = max(due, h.Learned.PauseEnd, h.quotaDue())
	}
	return due
}

// DueForAny returns the time at which a request could start that declares no
// Crawl-delay.
func (h *Host) DueForAny() Time { return h.Due(AnyRequest) }

// DelayEnd returns the time at which the Delay after the latest start is over,
// or Anytime if there was no start.
func (h *Host) DelayEnd() Time { return h.LastStart.Add(h.lengthen(h.Delay())) }

// CrawlDelayDue returns the time at which the Crawl-delay allows r to start, or
// Anytime if r keeps none.
func (h *Host) CrawlDelayDue(r *Request) Time {
	if d := h.CrawlDelay(r); d > 0 {
		return h.LastCrawlDelayStart.Add(h.lengthen(d))
	}
	return Anytime
}

// WhyDue returns the reason for which r may not start before h.Due(r).
func (h *Host) WhyDue(r *Request) Reason {
	due := h.Due(r)
	k := h.Learned
	switch {
	case k != nil && k.PauseEnd == due:
		return k.pauseCause
	case k != nil && h.quotaDue() == due:
		return ReasonRateLimit
	case h.CrawlDelay(r) > 0 && h.CrawlDelayDue(r) == due:
		return ReasonCrawlDelay
	case h.Delay() > h.Settings.Delay:
		return ReasonAdaptive
	}
	return ReasonDelay
}

// hasInterval reports whether, as far as is known now, the next request has to
// keep an interval after r.
func (h *Host) hasInterval(now Time, r *Request) bool {
	k := h.Learned
	spreads := k != nil && k.spread > 0 && k.spreadEnd > now
	return spreads || h.Settings.Adaptive > 0 || h.Interval(r) > 0
}

// RestartIntervals lets the intervals of h count from now. It is called when r
// starts and, if r.CountsFromSending, when net/http requests a connection for r
// and when r's header is written. It is also called when r ends, if
// restartsAtEnd reports true: with EndToStart, for example. In a fleet, it is
// called with AnyRequest for requests of an owner that did not hand the host
// over. The Crawl-delay counts from now only if r is not exempt.
func (h *Host) RestartIntervals(now Time, r *Request) {
	h.LastStart = max(h.LastStart, now)
	if r.Exempt {
		return
	}
	h.LastCrawlDelayStart = max(h.LastCrawlDelayStart, now)
	if d := h.CrawlDelay(r); d > 0 {
		k := h.Learn()
		k.CrawlDelayEnd = max(k.CrawlDelayEnd, now.Add(d))
	}
}

// Declare notes the Crawl-delay that r declares, and reports whether it differs
// from the one that was known. If it does, the caller must call Retime, because
// the requests that already wait keep the new Crawl-delay too.
func (h *Host) Declare(r *Request) (changed bool) {
	if !r.Declared {
		return false
	}
	if c := h.Claim; c != nil && !c.Owned {
		c.HasDeclared = true // so that Import does not set the previous owner's Crawl-delay
	}
	if h.Learned == nil && r.CrawlDelay == 0 {
		return false
	}
	if h.Learned != nil && h.Learned.CrawlDelay == r.CrawlDelay {
		return false
	}
	h.Learn().CrawlDelay = r.CrawlDelay
	return true
}

// restartsAtEnd reports whether the interval after r counts from the end of r,
// which is now. It does if Settings.EndToStart is set. It also does if no
// interval was known when r started, so that the time of sending was not noted,
// but one is known now.
//
// EndToStart has two more effects. In a fleet, h is not given away while a
// request is in flight (mustEndFirst in ownership.go), and a pause of one
// interval counts from the end too (PauseAtEnd in backoff.go).
func (h *Host) restartsAtEnd(now Time, r *Request) bool {
	return h.Settings.EndToStart || !r.CountsFromSending && h.hasInterval(now, r)
}

// DrawJitter draws a new Jitter of h. It is called at each start. In a fleet,
// it is also called when a member becomes the owner. The Jitter lengthens the
// Delay and the Crawl-delay that run now. After the start of an exempt request,
// it also changes the length of a Crawl-delay that runs already. A pause or the
// interval of a quota is not lengthened, but a pause of one interval
// (intervalMore in backoff.go) is.
func (h *Host) DrawJitter() {
	if h.Settings.Jitter > 0 {
		h.jitter = float32(h.Settings.Jitter * h.Settings.Random())
	}
}

// lengthen returns the interval with the present Jitter added.
func (h *Host) lengthen(interval time.Duration) time.Duration {
	return lengthen(interval, float64(h.jitter))
}

// lengthen returns the interval, lengthened by a fraction of it.
func lengthen(interval time.Duration, fraction float64) time.Duration {
	if fraction == 0 {
		return interval
	}
	more := float64(interval) * fraction
	if more >= float64(Unlimited) {
		return Unlimited
	}
	return Sum(interval, time.Duration(more))
}

// LengthenedInterval returns the interval, with the present Jitter, of a
// request that is not exempt and declares no Crawl-delay.
func (h *Host) LengthenedInterval() time.Duration { return h.lengthen(h.Interval(AnyRequest)) }
