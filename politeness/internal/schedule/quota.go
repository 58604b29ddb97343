package schedule

import "time"

// quotaDue returns the time at which the quota lets the next request start, or
// Anytime if there is no quota to spread.
func (h *Host) quotaDue() Time {
	if h.Learned == nil {
		return Anytime
	}
	return h.Learned.quotaDue(h.LastStart)
}

// quotaDue returns the time at which the quota lets the next request start
// after one that started at the time start.
func (k *Learned) quotaDue(start Time) Time {
	if k.spread == 0 {
		return Anytime
	}
	return min(start.Add(k.spread), k.spreadEnd)
}

// applyQuota applies what the host declares about its quota: a pause if the
// quota is spent, and an interval that makes the rest last until the quota is
// renewed. headers.Demands.Quota derives both from the header: the interval is
// the time until the renewal, divided by the number of requests that are left
// without those in flight.
//
// Only the stricter quota is kept: the one that lets the next request start
// later. If both are equally strict, the earlier one stays until it is renewed.
// A quota that lasts longer may be replaced by one that is renewed sooner,
// because the next response declares it again.
//
// It returns the length of the pause that began or was prolonged, or 0, and
// reports whether there is a new interval.
func (h *Host) applyQuota(now Time, q Quota) (pause time.Duration, slower bool) {
	if q.Pause > 0 {
		pause = h.Learn().pause(now, q.Pause, ReasonRateLimit)
	}
	if q.Spread == 0 {
		return pause, false
	}
	k := h.Learn()
	start := h.LastStart
	if start == Never {
		start = now // for the comparison only: the host may be new to this member of a fleet
	}
	end := now.Add(q.RenewsIn)
	isInForce := k.spreadEnd > now
	if isInForce && k.quotaDue(start) >= min(start.Add(q.Spread), end) {
		return pause, false // the earlier quota is at least as strict
	}
	k.spread = q.Spread
	k.spreadEnd = end
	return pause, true
}
