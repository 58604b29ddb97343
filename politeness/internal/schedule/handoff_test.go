package schedule

import (
	"testing"
	"time"
)

func TestState_Encode(t *testing.T) {
	for name, state := range map[string]State{
		"zero":             {},
		"a start":          {HasStarted: true, SinceStart: 300 * ms},
		"a start just now": {HasStarted: true, HasCrawlDelayStart: true},
		"all fields": {
			HasStarted: true, SinceStart: s, HasCrawlDelayStart: true, SinceCrawlDelayStart: 2 * s, CrawlDelayLeft: 9 * s,
			PauseLeft: 3 * s, CrawlDelay: 4 * s, AdaptiveDelay: 5 * s,
			Level: 255, Latest: Throttled, SinceIncident: 6 * s, QuotaInterval: 9 * s, QuotaLeft: 10 * s, Day: 20000, Requests: 7, Bytes: 8,
		},
	} {
		if got, ok := DecodeState(state.Encode()); !ok || got != state {
			t.Errorf("%s: DecodeState of the encoded state = %+v, %t, want %+v, true", name, got, ok, state)
		}
	}
	for _, other := range [][]byte{nil, {}, {0}, {stateVersion + 1, 1}} {
		if state, ok := DecodeState(other); ok || state != (State{}) {
			t.Errorf("DecodeState(%v) = %+v, want the zero State and false", other, state)
		}
	}
}

// The next owner of a host does not start a request earlier than the present
// owner would have.
func TestState_Handover(t *testing.T) {
	slow := Request{Declared: true, CrawlDelay: 10 * s}
	for _, tt := range []struct {
		name   string
		before func(h *Host)
		now    Time
		due    Time
	}{
		{"nothing", func(*Host) {}, s, Anytime},
		{"a start", func(h *Host) { h.start(0, &Request{}) }, 300 * ms, s},
		{"a start long ago", func(h *Host) { h.start(0, &Request{}) }, 30 * s, Anytime},
		{"a Crawl-delay", func(h *Host) { h.Declare(&slow); h.start(0, &Request{}) }, 3 * s, 10 * s},
		{"a pause", func(h *Host) { h.ApplyOutcome(s, &Request{}, Signals{Status: 429, Class: Throttled}) }, 2 * s, 6 * s},
		{"a quota", func(h *Host) { startWithQuota(h, 6*s, 60*s) }, 2 * s, 6 * s},
		{"a quota that is renewed soon", func(h *Host) { startWithQuota(h, 6*s, 4*s) }, 2 * s, 4 * s},
		{"a quota that was renewed", func(h *Host) { startWithQuota(h, 6*s, 4*s) }, 5 * s, Anytime},
	} {
		h := testHost()
		tt.before(h)
		state, _ := h.Export(tt.now, true)
		state, _ = DecodeState(state.Encode())
		next := testHost()
		next.Import(tt.now, state, 0, 0, false, next.Durable())
		if due := next.Due(&Request{}); due != tt.due {
			t.Errorf("%s: the next owner's request is due at %v, want %v", tt.name, time.Duration(due), time.Duration(tt.due))
		}
	}
}

// One origin of a host declares a long Crawl-delay, and a request starts. Then
// another origin declares none, and the host is handed over twice. A request to
// the first origin still waits for the rest of its Crawl-delay, and the host is
// not evicted before that.
func TestState_HandoverTwice(t *testing.T) {
	slow := Request{Declared: true, CrawlDelay: 30 * s}
	h := testHost()
	h.Declare(&slow)
	h.start(0, &slow)
	h.Declare(&Request{Declared: true})
	for _, now := range []Time{5 * s, 20 * s} {
		state, keep := h.Export(now, true)
		if left := Time(30 * s).Sub(now); keep < left {
			t.Errorf("at %v, Export returns that the state matters for %v, want at least %v", now.Sub(0), keep, left)
		}
		state, _ = DecodeState(state.Encode())
		h = testHost()
		h.Import(now, state, 0, 0, false, h.Durable())
	}
	if due := h.Due(&slow); due != 30*s {
		t.Errorf("a request to the slow origin is due at %v, want 30s", due.Sub(0))
	}
	if free := h.FreeAt(); free != 30*s {
		t.Errorf("the host is free at %v, want 30s", free.Sub(0))
	}
	if due := h.Due(&Request{}); due > 20*s {
		t.Errorf("a request to the other origin is due at %v, want at most 20s", due.Sub(0))
	}
}

// startWithQuota starts a request at 0 whose response declares a quota.
func startWithQuota(h *Host, spread, renewsIn time.Duration) {
	h.start(0, &Request{})
	h.ApplyOutcome(0, &Request{}, Signals{Status: 200, Class: Good, Quota: Quota{Spread: spread, RenewsIn: renewsIn}})
}

// A state with a quota is 3 s old. The quota ends when it would have ended for
// the earlier owner.
func TestImport_AgeOfQuota(t *testing.T) {
	h := testHost()
	startWithQuota(h, 6*s, 5*s)
	state, _ := h.Export(s, true)
	next := testHost()
	next.Import(4*s, state, 3*s, 3*s, false, next.Durable())
	if due := next.Due(&Request{}); due != 5*s {
		t.Errorf("the next owner's request is due at %v, want 5s", time.Duration(due))
	}
}

func FuzzDecodeState(f *testing.F) {
	f.Add(State{HasStarted: true, SinceStart: s, PauseLeft: s, Level: 3, Latest: Throttled, Requests: 4}.Encode())
	f.Add([]byte{stateVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		state, _ := DecodeState(encoded)
		spans := []time.Duration{state.SinceStart, state.SinceCrawlDelayStart, state.CrawlDelayLeft, state.PauseLeft, state.CrawlDelay, state.AdaptiveDelay, state.SinceIncident, state.QuotaInterval, state.QuotaLeft}
		for i, d := range spans {
			if d < 0 {
				t.Errorf("duration %d of the decoded state is %v, want none below 0", i, d)
			}
		}
		if state.Day < 0 || state.Requests < 0 || state.Bytes < 0 {
			t.Errorf("the decoded state is %+v, want no Day, Requests or Bytes below 0", state)
		}
	})
}
