package schedule

import (
	"testing"
	"time"
)

// Each row is a host that this member of a fleet has requested at 0. until is
// how long it is from 10 s on until the host may be given away.
func TestHost_UntilClaimEnds(t *testing.T) {
	owned := func(h *Host) { h.Claim.Owned = true }
	othersWait := func(h *Host) { h.Claim.OthersWait = true }
	waits := func(h *Host) { h.Enqueue(9*s, new(Request), new(Spare)) }
	hasStarted := func(h *Host) { h.Claim.HasStarted = true }
	inFlight := func(h *Host) { h.start(9*s, new(Request)) }
	two := func(h *Host) { h.Settings.Concurrency = 2 }
	ownedSince := func(now Time) func(h *Host) { return func(h *Host) { h.Claim.OwnedSince = now } }
	idleSince := func(now Time) func(h *Host) { return func(h *Host) { h.Claim.IdleSince = now } }
	retry := func(at Time) func(h *Host) { return func(h *Host) { h.ExpectRetry(9*s, at) } }
	pausedUntil := func(end Time) func(h *Host) { return func(h *Host) { h.Learn().PauseEnd = end } }
	type edits []func(*Host)
	over := Never.Sub(10 * s) // no longer needed, so at once
	for _, tt := range []struct {
		name  string
		edits edits
		until time.Duration
	}{
		{"requested, and a request waits", edits{waits}, Unlimited},
		{"requested, and no longer needed", nil, over},
		{"requested, and a retry is near", edits{retry(20 * s)}, 12 * s},
		{"requested, and a retry is far", edits{retry(50 * s)}, -950 * ms},
		{"owned and idle", edits{owned}, 0},
		{"owned, idle and due soon", edits{owned, pausedUntil(40 * s)}, Unlimited},
		{"owned, idle and due much later", edits{owned, pausedUntil(41 * s)}, 0},
		{"owned, idle and a retry is near", edits{owned, retry(20 * s)}, Unlimited},
		{"owned, idle and a retry is far", edits{owned, retry(50 * s)}, 0},
		{"owned, and a request waits", edits{owned, waits}, Unlimited},
		{"the same, and other members wait", edits{owned, waits, othersWait, ownedSince(9 * s)}, s},
		{"the same, and it is not due soon", edits{owned, waits, othersWait, ownedSince(9 * s), pausedUntil(15 * s)}, 5050 * ms},
		{"the same, after a start", edits{owned, waits, othersWait, ownedSince(9 * s), pausedUntil(15 * s), hasStarted}, s},
		{"a request is in flight", edits{owned, othersWait, inFlight}, Unlimited},
		{"one of two is in flight", edits{owned, othersWait, two, inFlight, ownedSince(9 * s)}, s},
		{"the same, and it is being sent", edits{owned, othersWait, two, inFlight, func(h *Host) { h.SetOnItsWay(h.OldestInFlight(), true) }}, Unlimited},
		{"idle, and other members wait", edits{owned, othersWait, idleSince(9980 * ms)}, 30 * ms},
		{"the same, and a retry is near", edits{owned, othersWait, idleSince(9980 * ms), retry(10 * s), ownedSince(9 * s)}, s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := testHost()
			h.BeginClaim(0, new(Claim))
			for _, edit := range tt.edits {
				edit(h)
			}
			if got := h.UntilClaimEnds(10 * s); got != tt.until {
				t.Errorf("UntilClaimEnds = %v, want %v", got, tt.until)
			}
		})
	}
}

// A host that another member owns until 5 s, and that this member gets then.
func TestHost_UnownedUntil(t *testing.T) {
	h := testHost()
	r := new(Request)
	o := new(Claim)
	h.BeginClaim(0, o)
	check := func(now, estimate, at Time, why Reason) {
		t.Helper()
		if got := h.ForecastAtEnd(now, r, Anytime).Estimate; got != estimate {
			t.Errorf("the estimated start is %v, want %v", time.Duration(got), time.Duration(estimate))
		}
		if gotAt, got := h.Ready(now, r); gotAt != at || got != why {
			t.Errorf("Ready = %v for reason %d, want %v for reason %d", time.Duration(gotAt), got, time.Duration(at), why)
		}
	}
	check(s, s, Forever, ReasonFleet)
	o.Earliest = 5 * s
	check(s, 5*s, 5*s, ReasonFleet)
	h.Learn().pause(s, 8*s, ReasonBackOff)
	check(s, 9*s, 9*s, ReasonBackOff)
	h.Learned = nil
	o.Owned = true
	check(6*s, 6*s, 6*s, ReasonNone)
}

// A term ends 2 s after the host became owned, if other members wait and one
// request has started.
func TestHost_IsTermOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Claim
		now  Time
		want bool
	}{
		{"no other member waits", Claim{HasStarted: true}, 10 * s, false},
		{"no request has started", Claim{OthersWait: true}, 10 * s, false},
		{"before its end", Claim{OthersWait: true, HasStarted: true, OwnedSince: s}, 3*s - 1, false},
		{"at its end", Claim{OthersWait: true, HasStarted: true, OwnedSince: s}, 3 * s, true},
	} {
		h := testHost()
		h.Claim = &tt.o
		if got := h.IsTermOver(tt.now); got != tt.want {
			t.Errorf("%s: IsTermOver = %t, want %t", tt.name, got, tt.want)
		}
	}
}

// Requests of other members that are in flight take up slots.
func TestHost_SlotsInAFleet(t *testing.T) {
	h := testHost(func(set *Settings) { set.Concurrency = 3 })
	h.Claim = &Claim{Owned: true, InFlightElsewhere: 2}
	if n := h.Slots(new(Request)); n != 1 {
		t.Errorf("with 2 of 3 slots in use by others, Slots = %d, want 1", n)
	}
	r := new(Request)
	h.start(0, r)
	if h.HasSlot(new(Request)) {
		t.Error("a fourth request may start although Concurrency is 3, want HasSlot = false")
	}
	h.Claim.InFlightElsewhere = 1
	if !h.HasSlot(new(Request)) {
		t.Error("a third request may not start although Concurrency is 3, want HasSlot = true")
	}
	h.SetOnItsWay(r, true)
	if h.HasSlot(new(Request)) {
		t.Error("another request may start while one is on its way, want HasSlot = false")
	}
}

// The fleet can never let this member own the host. All requests that wait are
// rejected, although none has a deadline.
func TestHost_DeniedClaim(t *testing.T) {
	h := newRetimed()
	c := new(Claim)
	h.BeginClaim(0, c)
	for range 3 {
		h.Enqueue(0, &Request{Deadline: Forever}, new(Spare))
	}
	c.Denied = true
	c.Earliest = Time(24 * time.Hour)
	h.event()
	if len(h.rejected) != 3 {
		t.Errorf("%d requests are rejected, want 3", len(h.rejected))
	}
	for _, why := range h.rejected {
		if why != ReasonFleet {
			t.Errorf("a request is rejected for reason %d, want %d", why, ReasonFleet)
		}
	}
	c.Owned = true
	if _, why := h.Ready(0, new(Request)); why != ReasonNone {
		t.Errorf("Ready of a host that is owned after all: reason %d, want %d", why, ReasonNone)
	}
}
