package schedule

import "time"

// A Quota is what a host declares about the requests that it allows. The zero
// value means that it declares nothing.
type Quota struct {
	Pause    time.Duration // how long no request may start, because the quota is spent
	Spread   time.Duration // the interval that makes the rest of the quota last until it is renewed
	RenewsIn time.Duration // how long Spread applies
}

// quotaDue returns the time at which the quota lets the next request start, or
// Never if there is no quota to spread.
func (h *Host) quotaDue() Time {
	if h.Learned == nil || h.Learned.spread == 0 {
		return Never
	}
	return min(h.LastStart.Add(h.Learned.spread), h.Learned.spreadEnd)
}

// applyQuota applies a quota. It returns the length of the pause that began or
// was prolonged, or 0, and reports whether the quota set a new interval.
func (h *Host) applyQuota(now Time, q Quota) (pause time.Duration, slower bool) {
	if q.Pause > 0 {
		pause = h.pause(now, q.Pause, ReasonRateLimit)
	}
	if q.Spread == 0 {
		return pause, false
	}
	k := h.Learn()
	end := now.Add(q.RenewsIn)
	isInForce := k.spreadEnd > now
	if isInForce && h.quotaDue() >= min(h.LastStart.Add(q.Spread), end) {
		return pause, false // the earlier quota is at least as strict
	}
	k.spread = q.Spread
	k.spreadEnd = end
	return pause, true
}
