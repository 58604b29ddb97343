package schedule

import (
	"testing"
	"time"
)

// Each row is a sequence of quotas. due is when the next request may start
// after the quota, if the latest request started at 0.
func TestHost_Quota(t *testing.T) {
	spread := func(interval, renews time.Duration) Quota { return Quota{Spread: interval, RenewsIn: renews} }
	type response struct {
		now Time
		q   Quota
		due Time
		why Reason
	}
	for _, tt := range []struct {
		name      string
		responses []response
	}{
		{"none", []response{{0, Quota{}, s, ReasonDelay}}},
		{"spent", []response{{0, Quota{Pause: 60 * s}, 60 * s, ReasonRateLimit}}},
		{"spread over its time", []response{{0, spread(6*s, 60*s), 6 * s, ReasonRateLimit}}},
		{"spread, but renewed before", []response{{0, spread(60*s, 10*s), 10 * s, ReasonRateLimit}}},
		{"a stricter one replaces it", []response{{0, spread(6*s, 60*s), 6 * s, ReasonRateLimit}, {0, spread(9*s, 60*s), 9 * s, ReasonRateLimit}}},
		{"a more generous one does not", []response{{0, spread(6*s, 60*s), 6 * s, ReasonRateLimit}, {0, spread(2*s, 60*s), 6 * s, ReasonRateLimit}}},
		{"a more generous one after the renewal does", []response{{0, spread(60*s, 10*s), 10 * s, ReasonRateLimit}, {10 * s, spread(20*s, 60*s), 20 * s, ReasonRateLimit}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := testHost()
			r := &Request{}
			h.start(0, r)
			for i, a := range tt.responses {
				h.ApplyOutcome(a.now, r, Signals{Status: 200, Class: Good, Quota: a.q})
				if due, why := h.Due(&Request{}), h.WhyDue(&Request{}); due != a.due || why != a.why {
					t.Errorf("after response %d, the next request is due at %v for reason %d, want %v for reason %d", i, time.Duration(due), why, time.Duration(a.due), a.why)
				}
			}
		})
	}
}

// A member of a fleet imports two quotas before it has started a request to the
// host. The stricter one is in force, in whichever order they come.
func TestHost_QuotaBeforeTheFirstStart(t *testing.T) {
	for _, spreads := range [][2]time.Duration{{s, 10 * s}, {10 * s, s}} {
		h := testHost()
		for _, spread := range spreads {
			h.applyQuota(0, Quota{Spread: spread, RenewsIn: time.Hour})
		}
		h.start(0, &Request{})
		if due := h.Due(&Request{}); due != 10*s {
			t.Errorf("after quotas with intervals of %v, the second request is due at %v, want 10s", spreads, time.Duration(due))
		}
	}
}

// While a quota is spread, its interval counts from the time of sending. After
// the renewal there is no interval, and a request on its way blocks no other.
func TestHost_QuotaIsOver(t *testing.T) {
	h := testHost()
	h.Settings.Delay = 0
	h.start(0, &Request{})
	h.ApplyOutcome(0, &Request{}, Signals{Status: 200, Class: Good, Quota: Quota{Spread: s, RenewsIn: 10 * s}})
	for _, tt := range []struct {
		now  Time
		want bool
	}{{9 * s, true}, {10 * s, false}} {
		r := &Request{}
		h.start(tt.now, r)
		if r.CountsFromSending != tt.want {
			t.Errorf("after %v, CountsFromSending is %t, want %t", time.Duration(tt.now), r.CountsFromSending, tt.want)
		}
	}
}
