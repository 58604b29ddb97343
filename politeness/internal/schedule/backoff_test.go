package schedule

import (
	"testing"
	"time"
)

// With EndToStart, the body of a first 503 takes longer than two intervals. The
// next request starts two intervals after the end of the body, unless there was
// a good response meanwhile.
func TestHost_PauseAtEnd(t *testing.T) {
	blocked := Signals{Status: 503, Class: Suspect}
	for _, tt := range []struct {
		name       string
		edit       func(*Settings)
		signals    Signals
		good       bool // a later request gets a good response before the end
		pauses     bool
		pause, due Time
	}{
		{"a 503", nil, blocked, false, true, 2 * s, 12 * s},
		{"a 503, and a good response", nil, blocked, true, true, 0, 11 * s},
		{"a 503 with Retry-After", nil, Signals{Status: 503, Class: Suspect, RetryAfter: 4 * s}, false, false, 0, 11 * s},
		{"a 429", nil, Signals{Status: 429, Class: Throttled}, false, false, 0, 11 * s},
		{"no back-off", func(set *Settings) { set.BackOff = 0 }, blocked, false, true, 0, 11 * s},
		{"no EndToStart", func(set *Settings) { set.EndToStart = false }, blocked, false, false, 0, 2 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := testHost(func(set *Settings) {
				set.EndToStart = true
				set.Concurrency = 2
				if tt.edit != nil {
					tt.edit(set)
				}
			})
			r := &Request{CountsFromSending: true}
			h.start(0, r)
			e := h.ApplyOutcome(s/2, r, tt.signals)
			if e.PausesAtEnd != tt.pauses {
				t.Fatalf("ApplyOutcome returns PausesAtEnd = %t, want %t", e.PausesAtEnd, tt.pauses)
			}
			if tt.good {
				next := new(Request)
				h.start(3*s, next)
				h.ApplyOutcome(4*s, next, Signals{Status: 200, Class: Good})
				h.Finish(4*s, next)
			}
			if e.PausesAtEnd {
				if pause := h.PauseAtEnd(10*s, r); pause != time.Duration(tt.pause) {
					t.Errorf("PauseAtEnd returns a pause of %v, want %v", pause, time.Duration(tt.pause))
				}
			}
			h.Finish(10*s, r)
			if due := h.DueForAny(); due != tt.due {
				t.Errorf("the next request is due at %v, want %v", time.Duration(due), time.Duration(tt.due))
			}
		})
	}
}

// Two requests are in flight with EndToStart, and both responses are a 503. The
// second one belongs to the incident of the first, so its end does not prolong
// the pause.
func TestHost_PauseAtEndOfTheSameIncident(t *testing.T) {
	h := testHost(func(set *Settings) {
		set.EndToStart = true
		set.Concurrency = 2
	})
	first := &Request{CountsFromSending: true}
	second := &Request{CountsFromSending: true}
	h.start(0, first)
	h.start(s, second)
	blocked := Signals{Status: 503, Class: Suspect}
	if e := h.ApplyOutcome(2*s, first, blocked); !e.PausesAtEnd {
		t.Error("ApplyOutcome for the first 503 returns PausesAtEnd = false, want true")
	}
	if e := h.ApplyOutcome(3*s, second, blocked); e.PausesAtEnd {
		t.Error("ApplyOutcome for the second 503 returns PausesAtEnd = true, want false")
	}
}

// A page starts at 0, and its host has a Crawl-delay of 10 s. An exempt request
// starts at 2 s and gets a 503. The next page starts one Crawl-delay later than
// without the 503.
func TestHost_BackOffAfterExemptRequest(t *testing.T) {
	for _, endToStart := range []bool{false, true} {
		h := testHost(func(set *Settings) { set.EndToStart = endToStart })
		page := &Request{Declared: true, CrawlDelay: 10 * s}
		robots := &Request{Exempt: true, Overtakes: true}
		h.Declare(page)
		h.start(0, page)
		h.Finish(0, page)
		h.start(2*s, robots)
		e := h.ApplyOutcome(3*s, robots, Signals{Status: 503, Class: Suspect})
		if e.PausesAtEnd {
			h.PauseAtEnd(4*s, robots)
		}
		h.Finish(4*s, robots)
		if due := h.Due(page); due != 20*s {
			t.Errorf("EndToStart %t: the next page is due at %v, want 20s", endToStart, time.Duration(due))
		}
	}
}

// A quota lets one request start in a minute. A first 503 delays the next
// request by one interval more, with EndToStart too.
func TestHost_BackOffWithinAQuota(t *testing.T) {
	for _, endToStart := range []bool{false, true} {
		h := testHost(func(set *Settings) { set.EndToStart = endToStart })
		h.applyQuota(0, Quota{Spread: time.Minute, RenewsIn: time.Hour})
		r := new(Request)
		h.start(0, r)
		e := h.ApplyOutcome(s/2, r, Signals{Status: 503, Class: Suspect})
		if e.PausesAtEnd {
			h.PauseAtEnd(20*s, r)
		}
		h.Finish(20*s, r)
		want := Time(61 * s)
		if endToStart { // the interval of the quota counts from the end
			want += 20 * s
		}
		if due := h.DueForAny(); due != want {
			t.Errorf("EndToStart %t: the next request is due at %v, want %v", endToStart, time.Duration(due), time.Duration(want))
		}
	}
}

// Each row is a sequence of outcomes. started is when the request of an outcome
// started, and pauseEnd is the end of the host's pause after the outcome.
func TestHost_BackOff(t *testing.T) {
	ok := Signals{Status: 200, Class: Good}
	throttled := Signals{Status: 429, Class: Throttled}
	blocked := Signals{Status: 503, Class: Suspect}
	after := func(sig Signals, d time.Duration) Signals {
		sig.RetryAfter = d
		return sig
	}
	type outcome struct {
		started, now Time
		signals      Signals
		pauseEnd     Time
	}
	noBackOff := func(set *Settings) { set.BackOff = 0 }
	for _, tt := range []struct {
		name     string
		edit     func(*Settings)
		outcomes []outcome
	}{
		{"a 429", nil, []outcome{{0, s, throttled, 6 * s}}},
		{"the pause doubles", nil, []outcome{{0, s, throttled, 6 * s}, {6 * s, 7 * s, throttled, 17 * s}, {17 * s, 18 * s, throttled, 38 * s}}},
		{"a request in flight belongs to the same incident", nil, []outcome{{0, s, throttled, 6 * s}, {ms, 2 * s, throttled, 6 * s}}},
		{"but its Retry-After counts", nil, []outcome{{0, s, throttled, 6 * s}, {ms, 2 * s, after(throttled, 60*s), 62 * s}}},
		{"a good response undoes one doubling", nil, []outcome{{0, s, throttled, 6 * s}, {6 * s, 7 * s, ok, 6 * s}, {8 * s, 9 * s, throttled, 14 * s}}},
		{"a good response to an earlier request does not", nil, []outcome{{0, s, throttled, 6 * s}, {ms, 2 * s, ok, 6 * s}, {6 * s, 7 * s, throttled, 17 * s}}},
		{"a first 503 costs one interval more", nil, []outcome{{0, 500 * ms, blocked, 2 * s}}},
		{"a second one is as a 429", nil, []outcome{{0, 500 * ms, blocked, 2 * s}, {2 * s, 3 * s, blocked, 8 * s}}},
		{"a 429 confirms a 503 of the same time", nil, []outcome{{0, 500 * ms, blocked, 2 * s}, {0, s, throttled, 6 * s}}},
		{"Retry-After replaces the back-off", nil, []outcome{{0, s, after(throttled, 2*s), 3 * s}}},
		{"a shorter pause does not end a longer one", nil, []outcome{{0, s, after(throttled, 60*s), 61 * s}, {2 * s, 3 * s, after(throttled, s), 61 * s}}},
		{"a redirect with Retry-After", nil, []outcome{{0, s, after(Signals{Status: 302, Class: Good}, 9*s), 10 * s}}},
		{"a page with Retry-After", nil, []outcome{{0, s, after(ok, 9*s), Never}}},
		{"a 500 with Retry-After", nil, []outcome{{0, s, after(Signals{Status: 500}, 9*s), 10 * s}}},
		{"a 403 with Retry-After", nil, []outcome{{0, s, after(Signals{Status: 403, Class: Good}, 9*s), 10 * s}}},
		{"a 404 undoes one doubling", nil, []outcome{{0, s, throttled, 6 * s}, {6 * s, 7 * s, Signals{Status: 404, Class: Good}, 6 * s}, {8 * s, 9 * s, throttled, 14 * s}}},
		{"a 403 with Retry-After does not", nil, []outcome{{0, s, throttled, 6 * s}, {6 * s, 7 * s, after(Signals{Status: 403, Class: Good}, s), 8 * s}, {8 * s, 9 * s, throttled, 19 * s}}},
		{"no response has no Retry-After", nil, []outcome{{0, s, after(Signals{Failed: true}, 9*s), Never}}},
		{"no back-off", noBackOff, []outcome{{0, s, throttled, Never}, {2 * s, 3 * s, blocked, Never}, {4 * s, 5 * s, after(throttled, s), 6 * s}}},
		{"the greatest pause", func(set *Settings) { set.MaxBackOff = 8 * s }, []outcome{{0, s, throttled, 6 * s}, {6 * s, 7 * s, throttled, 15 * s}, {15 * s, 16 * s, throttled, 24 * s}}},
		{"good responses undo the doublings up to the greatest pause, and no others", func(set *Settings) { set.MaxBackOff = 8 * s }, []outcome{
			{0, s, throttled, 6 * s}, {6 * s, 7 * s, throttled, 15 * s}, {15 * s, 16 * s, throttled, 24 * s}, {24 * s, 25 * s, throttled, 33 * s},
			{33 * s, 34 * s, ok, 33 * s}, {35 * s, 36 * s, ok, 33 * s}, {37 * s, 38 * s, throttled, 43 * s},
		}},
		{"no outcome", nil, []outcome{{0, s, Signals{}, Never}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := testHost()
			if tt.edit != nil {
				h = testHost(tt.edit)
			}
			for i, o := range tt.outcomes {
				r := &Request{}
				h.start(o.started, r)
				e := h.ApplyOutcome(o.now, r, o.signals)
				end := Never
				if h.Learned != nil {
					end = h.Learned.PauseEnd
				}
				if end != o.pauseEnd {
					t.Errorf("after outcome %d, the pause ends at %v, want %v", i, time.Duration(end), time.Duration(o.pauseEnd))
				}
				if e.Pause > 0 && o.now.Add(e.Pause) != end {
					t.Errorf("after outcome %d, a pause of %v from %v is reported, want one that ends at %v", i, e.Pause, time.Duration(o.now), time.Duration(end))
				}
			}
		})
	}
}
