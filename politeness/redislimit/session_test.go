package redislimit

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/politeness"
)

// A member that is cut off starts no request after its Lease, and its host gets
// another owner. When the member is connected again, it gets the host again.
func TestSession_CutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		f.options.Lease = shortLease
		a, b := f.join(&politeness.Limiter{Delay: shortDelay}), f.join(&politeness.Limiter{Delay: shortDelay})
		a.request(host, ok200)
		a.crawl()
		b.crawl()
		time.Sleep(2700 * time.Millisecond) // in the middle of a turn
		owner := a
		starts := f.sortedStarts()
		if starts[len(starts)-1].member == b.number {
			owner = b
		}
		cutOff := time.Now()
		owner.cutOff()
		time.Sleep(3 * shortLease)
		owner.reconnect()
		reconnected := time.Now()
		time.Sleep(shortLease)
		a.stopCrawling()
		b.stopCrawling()
		f.Wait()
		silence := time.Duration(0)
		served := make(map[int]bool)
		starts = f.sortedStarts()
		for i, s := range starts {
			if s.at.Before(cutOff) {
				continue
			}
			silence = max(silence, s.at.Sub(starts[i-1].at))
			if s.member == owner.number && s.at.After(cutOff.Add(shortLease)) && s.at.Before(reconnected) {
				t.Errorf("the member that is cut off starts a request %v later, want none after its lease of %v", s.at.Sub(cutOff), shortLease)
			}
			if s.at.After(reconnected) {
				served[s.member] = true
			}
		}
		if silence > shortLease*5/2 {
			t.Errorf("no request started for %v, want %v at most", silence, shortLease*5/2)
		}
		if len(served) < 2 {
			t.Errorf("after the reconnection, the members %v start requests, want 2 or more", served)
		}
		if owner.lost.Load() == 0 {
			t.Error("the Observer of the member that was cut off was not called")
		}
	})
}

// A host is offered to a member that was just killed. Then it is available to
// another member in the queue without a pause, because the member that was
// killed never owned it.
func TestSession_OfferToKilledMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a := f.join(&politeness.Limiter{})
		g := a.begin(t.Context(), host)
		var waiting []*testMember
		started := make(chan time.Time, 4)
		for range 4 { // three of the four are killed, so the host is probably offered to one of them
			m := f.join(&politeness.Limiter{})
			waiting = append(waiting, m)
			go func() {
				if _, err := m.tryRequest(host, 5*time.Minute, ok200); err == nil {
					started <- time.Now()
				}
			}()
		}
		time.Sleep(1900 * time.Millisecond)
		for _, m := range waiting[:3] {
			m.kill()
		}
		g.Done(ok200)
		given := time.Now()
		if after := (<-started).Sub(given); after > 8*time.Second { // up to three offers of 1.5 s each; members request the host again every second
			t.Errorf("the member that was not killed starts a request after %v, want at most 8s", after)
		}
	})
}

// The sessions of members that were killed are still stored in Redis. The next
// member ends them, even if it joins hours later.
func TestSession_RemovesKilledMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		for range 3 {
			m := f.join(&politeness.Limiter{})
			m.tryRequest(host, 10*time.Second, ok200)
			go m.tryRequest(host, time.Hour, ok200)
			time.Sleep(time.Second)
			m.kill()
		}
		time.Sleep(2 * time.Hour)
		if n := len(f.memory.snapshot().sessions); n == 0 {
			t.Fatal("no session of a killed member is left, want one at least, without which this test cannot fail")
		}
		m := f.join(&politeness.Limiter{})
		m.crawl()
		time.Sleep(time.Minute)
		if sessions := f.memory.snapshot().sessions; len(sessions) != 1 {
			t.Errorf("the sessions are %v, want only that of the new member", sessions)
		}
		m.stopCrawling()
		f.Wait()
		m.Close()
		if state := f.memory.snapshot(); len(state.sessions) != 0 {
			t.Errorf("after Close, the state is %+v, want no sessions", state)
		}
	})
}

// A member trusts its session only while the Lease still runs by both clocks,
// because either may fall behind. The monotonic clock may stand still while the
// machine is suspended, and the wall clock may be set back.
func TestSession_ClockStops(t *testing.T) {
	m := newTestFleet(t).join(&politeness.Limiter{})
	const lease = 10 * time.Second
	for _, tt := range []struct {
		name            string
		monotonic, wall time.Duration // the time since the renewal, by each clock
		want            bool
	}{
		{"just renewed", time.Second, time.Second, true},
		{"silent for long", lease, lease, false},
		{"suspended", time.Second, lease, false},
		{"set back", lease, time.Second, false},
		{"set back by an hour", time.Second, -time.Hour, true},
	} {
		sent := time.Now().Add(-tt.monotonic)
		wall := (*uint64)(unsafe.Pointer(&sent)) // Time's first field: a flag, 33 bits of seconds, 30 bits of nanoseconds
		*wall -= uint64((tt.wall-tt.monotonic)/time.Second) << 30
		now := time.Now()
		monotonic, wallClock := now.Sub(sent), now.Round(0).Sub(sent.Round(0))
		if monotonic.Round(time.Second) != tt.monotonic || wallClock.Round(time.Second) != tt.wall {
			t.Fatalf("the layout of time.Time has changed: since the changed time, %v have passed by the monotonic clock and %v by the wall clock, want %v and %v", monotonic, wallClock, tt.monotonic, tt.wall)
		}
		m.renewedAt.Store(&sent)
		if got := m.Trusted(); got != tt.want {
			t.Errorf("%s: Trusted() = %t, want %t", tt.name, got, tt.want)
		}
	}
}
