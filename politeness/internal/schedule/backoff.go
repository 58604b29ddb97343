package schedule

import (
	"math"
	"time"
)

// An Effect is what the outcome of a request has changed.
type Effect struct {
	Pause  time.Duration // the pause that began or was prolonged; 0 means none
	Slower bool          // an interval may have become longer

	// PausesAtEnd reports that the request has begun a pause of one interval
	// more, which counts from its end, so PauseAtEnd must be called then.
	PausesAtEnd bool
}

// ApplyOutcome updates h after the outcome of r: the back-off or the pause that
// a Retry-After requests, the adaptive delay, and the quota. If a Retry-After
// is obeyed, the quota of its response is ignored.
func (h *Host) ApplyOutcome(now Time, r *Request, s Signals) (e Effect) {
	if s.IsEmpty() {
		return e
	}
	obeysRetryAfter := s.obeysRetryAfter()
	if obeysRetryAfter && s.Class == Good && s.Status >= 400 {
		s.Class = Silent // a host that requests a pause does not cope
	}
	if s.Class == Good {
		h.recover(r)
	}
	switch {
	case s.Class >= Suspect:
		e.Pause = h.backOff(now, r, s)
		beganIncident := h.Learned.Latest == Suspect && h.Learned.Incident == now
		e.PausesAtEnd = h.Settings.EndToStart && beganIncident && s.RetryAfter == 0
	case obeysRetryAfter:
		e.Pause = h.Learn().pause(now, s.RetryAfter, ReasonBackOff)
	}
	e.Slower = h.adapt(s)
	if !obeysRetryAfter {
		pause, slower := h.applyQuota(now, s.Quota)
		if pause > 0 {
			e.Pause = pause
		}
		e.Slower = e.Slower || slower
	}
	return e
}

// backOff pauses h after a response to r whose class is Suspect or Throttled,
// and returns the length of the pause that began or was prolonged. The first
// such response begins an incident. The responses to requests that were already
// in flight then count as part of the same incident, but the Retry-After of
// each can make the pause longer. A Retry-After replaces the pause of the
// back-off, even if it is shorter.
func (h *Host) backOff(now Time, r *Request, s Signals) time.Duration {
	k := h.Learn()
	isNew := r.PhaseStart > k.Incident
	// The Suspect response that began the incident may have concerned one URL
	// only. A 429 that follows proves that it concerns the host, even if it
	// belongs to the same incident.
	isConfirmed := s.Class == Throttled && k.Latest == Suspect
	wait := time.Duration(0)
	switch {
	case isNew && s.Class == Suspect && k.Latest < Suspect:
		// The response may concern one URL only, so h is paused for one
		// interval more.
		wait = h.intervalMore(now, r)
		k.Latest = Suspect
		k.Incident = now
	case isNew || isConfirmed:
		if k.Level < math.MaxUint8 {
			k.Level++
		}
		wait = h.randomized(h.Settings.exponential(k.Level))
		k.Latest = Throttled
		k.Incident = now
	}
	if s.RetryAfter > 0 {
		wait = s.RetryAfter
	}
	return k.pause(now, wait, ReasonBackOff)
}

// intervalMore returns the pause that delays the next request by one interval.
// The pause ends one interval after the time at which that request could
// otherwise start. It is 0 if back-off is off. If r is exempt, the next request
// is assumed to be a page, because a pause of one Delay could be over before
// the page's Crawl-delay is.
func (h *Host) intervalMore(now Time, r *Request) time.Duration {
	if h.Settings.BackOff == 0 {
		return 0
	}
	following := r
	if r.Exempt {
		following = AnyRequest
	}
	next := max(now, h.Due(following))
	if h.Settings.EndToStart {
		// The next request waits for the interval after the end of r. That is
		// now, unless r has a body: then PauseAtEnd prolongs the pause. A
		// longer pause that is already in force stays.
		afterEnd := now.Add(h.lengthen(h.Interval(r)))
		next = max(afterEnd, h.CrawlDelayDue(following), h.Learned.quotaDue(now))
	}
	return next.Add(h.lengthen(h.Interval(following))).Sub(now)
}

// PauseAtEnd is called at the end of r, if Effect.PausesAtEnd was true for the
// response to r. The body of the response may have taken longer than the pause
// that began with its header, and the next interval counts from now, so the
// interval more does too. PauseAtEnd returns the length of the prolonged pause,
// or 0 if the pause is not prolonged, as after a later good response.
func (h *Host) PauseAtEnd(now Time, r *Request) time.Duration {
	k := h.Learned
	if k == nil || k.Latest != Suspect {
		return 0
	}
	return k.pause(now, h.intervalMore(now, r), ReasonBackOff)
}

// exponential returns the pause for Learned.Level n: BackOff, doubled n-1
// times, and at most MaxBackOff. It is 0 for Level 0.
func (s *Settings) exponential(n uint8) time.Duration {
	if n == 0 {
		return 0
	}
	wait := s.BackOff
	for ; n > 1 && wait < s.MaxBackOff; n-- {
		wait = Sum(wait, wait)
	}
	return min(wait, s.MaxBackOff)
}

// randomized adds a random part of up to a tenth to a pause of the back-off, so
// that crawlers that were throttled together do not return together. The sum is
// at most MaxBackOff.
func (h *Host) randomized(pause time.Duration) time.Duration {
	s := h.Settings
	random := time.Duration(float64(pause) / 10 * s.Random())
	return min(Sum(pause, random), s.MaxBackOff)
}

// recover undoes one doubling of the back-off after a good response. Levels
// that have not lengthened the pause, because it was at MaxBackOff, are undone
// with it. The response does not count if its request started before the latest
// incident.
func (h *Host) recover(r *Request) {
	k := h.Learned
	if k == nil || r.PhaseStart <= k.Incident {
		return
	}
	k.Latest = Good
	longest := h.Settings.exponential(k.Level)
	for k.Level > 0 {
		k.Level--
		if h.Settings.exponential(k.Level) < longest {
			return
		}
	}
}

// hasBackOff reports whether the latest incident still matters: it lengthens
// the back-off, or makes the next Suspect response count as a 429.
func hasBackOff(level uint8, latest Class) bool { return level > 0 || latest >= Suspect }

// IsPaused reports whether a pause or a quota lets no request start now.
func (h *Host) IsPaused(now Time) bool {
	return h.Learned != nil && max(h.Learned.PauseEnd, h.quotaDue()) > now
}
