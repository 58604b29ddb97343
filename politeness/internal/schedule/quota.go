package schedule

import "time"

// quotaDue returns the time at which the quota lets the next request start, or
// Anytime if there is no quota to spread.
func (h *Host) quotaDue() Time {
	if h.Learned == nil || h.Learned.spread == 0 {
		return Anytime
	}
	return min(h.LastStart.Add(h.Learned.spread), h.Learned.spreadEnd)
}

// applyQuota applies what the host declares about its quota: a pause if the
// quota is spent, and an interval that makes the rest last until the quota is
// renewed. It returns the length of the pause that began or was prolonged, or
// 0, and reports whether there is a new interval.
func (h *Host) applyQuota(now Time, q Quota) (pause time.Duration, slower bool) {
	if q.Pause > 0 {
		pause = h.Learn().pause(now, q.Pause, ReasonRateLimit)
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
