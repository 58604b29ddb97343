package redislimit

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A 429 to one member pauses the host for all.
func TestPause_StopsAllMembers(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: shortDelay}), f.join(&politeness.Limiter{Delay: shortDelay})
		a.request(host, tooMany("3"))
		paused := time.Now()
		b.request(host, ok200)
		if got := time.Since(paused); got < 3*time.Second-f.tolerance() || got > 3*time.Second+2*quick+f.stalled() {
			f.Errorf("the other member starts a request %v after the 429, want %v to %v", got, 3*time.Second-f.tolerance(), 3*time.Second+2*quick+f.stalled())
		}
	})
}

// A second 429 doubles the host's back-off, also if another member receives it.
func TestPause_BackOffDoubles(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: shortDelay, BackOff: time.Second, MaxBackOff: time.Hour}
		}
		for range 2 {
			f.join(limiter()).request(host, politeness.Outcome{Status: http.StatusTooManyRequests})
		}
		f.join(limiter()).request(host, ok200)
		if got := f.gap(0, 1); got < time.Second-f.tolerance() {
			f.Errorf("the first pause was %v, want %v at least", got, time.Second-f.tolerance())
		}
		if got := f.gap(1, 2); got < 2*time.Second-f.tolerance() {
			f.Errorf("the second pause was %v, want %v at least", got, 2*time.Second-f.tolerance())
		}
	})
}

// The first 503 does not pause the host. A second one in a row does, also if
// another member receives it.
func TestPause_Second503(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: shortDelay, BackOff: 3 * time.Second}
		}
		for range 2 {
			f.join(limiter()).request(host, politeness.Outcome{Status: http.StatusServiceUnavailable})
		}
		f.join(limiter()).request(host, ok200)
		if got := f.gap(0, 1); got > 2*time.Second+f.stalled() {
			f.Errorf("after the first 503, a request starts after %v, want at most %v", got, 2*time.Second+f.stalled())
		}
		if got := f.gap(1, 2); got < 3*time.Second-f.tolerance() {
			f.Errorf("after the second 503, a request starts after %v, want %v at least", got, 3*time.Second-f.tolerance())
		}
	})
}

// A host is paused, and its owner is killed. The next owner keeps the pause.
func TestPause_OwnerIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		a.request(host, tooMany("28"))
		paused := time.Now()
		time.Sleep(2 * time.Second)
		a.kill()
		b.mustStartBetween(paused, 28*time.Second, 45*time.Second)
	})
}

// A pause is stored in Redis at once. It is not lost if its owner is killed a
// moment later.
func TestPause_StoredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		a.request(host, ok200)
		time.Sleep(1500 * time.Millisecond) // halfway between two heartbeats
		a.request(host, tooMany("120"))
		paused := time.Now()
		time.Sleep(10 * time.Millisecond)
		a.kill()
		b.mustStartBetween(paused, 120*time.Second, 122*time.Second)
	})
}

// An owner whose only host is paused makes no more calls to Redis. The pause is
// known to the next owner.
func TestPause_EndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a := f.join(&politeness.Limiter{})
		a.request(host, tooMany("3600"))
		time.Sleep(20 * time.Second)
		calls := f.calls()
		time.Sleep(10 * time.Minute)
		if n, sessions := f.calls()-calls, f.memory.snapshot().sessions; n > 0 || len(sessions) > 0 {
			t.Errorf("while the host is paused, there are %d calls of Redis and the sessions %v, want none", n, sessions)
		}
		b := f.join(&politeness.Limiter{})
		if _, err := b.tryRequest(host, time.Minute, ok200); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request of another member during the pause: error %v, want DeadlineExceeded", err)
		}
	})
}

// A pause ends for all members at about the same time, however often the
// waiting members receive it.
func TestPause_EndsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		var mu sync.Mutex
		var paused time.Time
		next := make(map[int]time.Time)
		stop, cancel := context.WithCancel(t.Context())
		for i := range 3 {
			m := f.join(&politeness.Limiter{})
			f.Go(func() {
				for n := 0; ; n++ {
					g, err := m.acquire(stop, host)
					if err != nil {
						return
					}
					o := ok200
					mu.Lock()
					if paused.IsZero() && i == 0 && n == 5 {
						paused = time.Now()
						o = tooMany("20")
					} else if !paused.IsZero() && next[i].IsZero() {
						next[i] = time.Now()
					}
					mu.Unlock()
					g.Done(o)
				}
			})
		}
		time.Sleep(3 * time.Minute)
		cancel()
		f.Wait()
		if len(next) != 3 {
			t.Errorf("%d members start requests after the pause, want all 3", len(next))
		}
		for i, at := range next {
			t.Logf("member %d starts %v after the 429", i, at.Sub(paused))
			if at.Sub(paused) > 30*time.Second {
				t.Errorf("member %d starts %v after the 429, want at most 30s", i, at.Sub(paused))
			}
		}
	})
}

// A process that runs for 2 s every minute obeys a Retry-After of 90 s, and
// sends a request in one of the first runs after that.
func TestPause_ShortRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		first := f.join(&politeness.Limiter{})
		time.Sleep(time.Second)
		first.request(host, ok200) // the first epoch is over 2 s old
		first.Close()
		time.Sleep(time.Minute)
		var paused time.Time
		for run := range 5 {
			m := f.join(&politeness.Limiter{})
			o := ok200
			if run == 0 {
				o = tooMany("90")
				paused = time.Now()
			}
			_, err := m.tryRequest(host, 2*time.Second, o)
			m.Close()
			switch after := time.Since(paused); {
			case run == 0 && err != nil:
				t.Fatal(err)
			case run > 0 && err == nil && after < 90*time.Second:
				t.Fatalf("a request starts %v after the 429, want 1m30s at least", after)
			case run > 0 && err == nil:
				return
			}
			time.Sleep(58 * time.Second)
		}
		t.Error("no request starts within 5 tries, want one after the pause")
	})
}

// A member owns a host that another member has paused for a day. Redis loses
// its data, the member registers the host in the new epoch, and is killed. The
// pause is still known hours later.
func TestPause_LongAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b, other := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		g := other.begin(t.Context(), "other.example")
		defer g.Done(ok200) // so that a member notices that the other is killed
		a.request(host, tooMany("86400"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go b.acquire(ctx, host)
		time.Sleep(5*time.Second + heartbeatInterval/2) // halfway between two heartbeats
		f.memory.flush()
		time.Sleep(heartbeatInterval) // b registers the host after its next heartbeat, and stores nothing else
		if f.memory.snapshot().hosts[host] == nil {
			t.Fatal("the member has not registered the host")
		}
		b.kill()
		time.Sleep(4 * time.Hour)
		if waited, err := other.tryRequest(host, time.Minute, ok200); err == nil {
			t.Errorf("a request starts after %v, want none within 1m0s, because the pause lasts 20h more", waited)
		}
		cancel()
		synctest.Wait()
	})
}
