package redislimit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// One member alone keeps the interval, and ends its session when it is idle.
func TestHandOver_OneMember(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a := f.join(&politeness.Limiter{Delay: shortDelay})
		a.requestMany(1, 5)
		f.Wait()
		f.checkIntervals(shortDelay)
		a.mustBecomeIdle()
	})
}

// Members take turns at one host, and keep its interval.
func TestHandOver_TakesTurns(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		var members []*testMember
		requests := 40
		if f.isReal() {
			requests = 20 // each of two workers makes 20 requests: enough for two turns of 2 s per member
		}
		for range 3 {
			m := f.join(&politeness.Limiter{Delay: shortDelay})
			members = append(members, m)
			m.requestMany(2, requests)
		}
		f.Wait()
		f.checkIntervals(shortDelay)
		starts := f.sortedStarts()
		first, last := starts[0].at, starts[len(starts)-1].at
		took := last.Sub(first)
		// If the machine stood still for a quarter of the time, fewer requests
		// than the interval allows are accepted.
		share := float64(len(starts)-1) * float64(shortDelay) / float64(took)
		if share < 0.85 && f.stalled() < took/4 {
			f.Errorf("the members started %.2f of the requests that the interval allows, want 0.85 at least", share)
		}
		longest := time.Duration(0)
		for i := range members {
			since := first
			for _, s := range starts {
				if s.member == i {
					longest = max(longest, s.at.Sub(since))
					since = s.at
				}
			}
			if members[i].handedOver.Load() == 0 {
				f.Errorf("member %d has handed no host over, want one at least", i)
			}
		}
		if most := 2*2*2*time.Second + quick + f.stalled(); longest > most { // two turns of 2 s for each of the two other members
			f.Errorf("a member waited for %v, want at most %v", longest, most)
		}
	})
}

// A member owns one host. Requests to other hosts do not wait for it.
func TestHandOver_HostsAreIndependent(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: time.Hour}), f.join(&politeness.Limiter{Delay: time.Hour})
		a.request("warm.example", ok200) // hosts are available when the epoch is 2 s old
		began := time.Now()
		for i := range 20 {
			a.request(fmt.Sprintf("a%d.example", i), ok200)
			b.request(fmt.Sprintf("b%d.example", i), ok200)
		}
		if took := time.Since(began); took > 4*quick+f.stalled() {
			f.Errorf("the first requests to 40 hosts took %v, want at most %v", took, 4*quick+f.stalled())
		}
	})
}

// An owner without requests gives the host back at once, also if the next
// request may start.
func TestHandOver_IdleOwner(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: 2 * quick}), f.join(&politeness.Limiter{Delay: 2 * quick})
		a.request(host, ok200)
		b.request(host, ok200)
		a.request(host, ok200)
		f.checkIntervals(2 * quick)
		if took := f.gap(0, 2); took > 5*quick+f.stalled() {
			f.Errorf("the third request starts %v after the first, want at most %v", took, 5*quick+f.stalled())
		}
	})
}

// With a Concurrency of 1, the next owner waits until the request in flight has
// ended.
func TestHandOver_RequestInFlight(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: shortDelay / 10}), f.join(&politeness.Limiter{Delay: shortDelay / 10})
		g := a.begin(f.Context(), host)
		done := time.Now()
		time.AfterFunc(4*time.Second, func() {
			done = time.Now()
			g.Done(ok200)
		})
		b.request(host, ok200)
		if at := f.sortedStarts()[1].at; at.Before(done) {
			f.Errorf("the next owner started a request %v before the request in flight ended, want after its end", done.Sub(at))
		}
	})
}

// A request in flight counts even if Redis would have removed its host without
// that request.
func TestHandOver_InFlightAtRemovedHost(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b, c := f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce())
		slow := a.begin(f.Context(), host)
		b.request(host, ok200)
		c.removeUnneededHosts()
		c.begin(f.Context(), host)
		time.AfterFunc(2*time.Second, func() { slow.Done(ok200) })
		began := time.Now()
		c.request(host, ok200)
		if took := time.Since(began); took < 2*time.Second-f.tolerance() {
			f.Errorf("the third request starts %v after it began to wait, want at least 2s, when the request in flight ends", took)
		}
	})
}

// While another member sends requests to a host, a caller with a negative
// MaxWait receives a DelayError. If it always tries again when the DelayError
// says, it becomes the owner within 20 s.
func TestHandOver_CallerThatDoesNotWait(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: shortDelay, MaxWait: -1}), f.join(&politeness.Limiter{Delay: shortDelay})
		b.request(host, ok200)
		stop := make(chan struct{})
		f.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					b.request(host, ok200)
				}
			}
		})
		defer close(stop)
		for began := time.Now(); ; {
			g, err := a.acquire(f.Context(), host)
			if err == nil {
				g.Done(ok200)
				return
			}
			delay, is := errors.AsType[*politeness.DelayError](err)
			if !is || time.Since(began) > 20*time.Second {
				f.Errorf("a request that is repeated when it is rejected: error %v after %v, want a start or only DelayErrors within 20s", err, time.Since(began))
				return
			}
			time.Sleep(min(max(time.Until(delay.Until), shortDelay/10), 2*time.Second))
		}
	})
}

// A request that cannot wait for another member's turn gets a DelayError that
// contains the owner.
func TestHandOver_ErrorNamesOwner(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: shortDelay}), f.join(&politeness.Limiter{Delay: shortDelay})
		g := a.begin(f.Context(), host)
		defer g.Done(ok200)
		// On a busy machine, b needs a second to learn who owns the host.
		ctx, cancel := context.WithTimeout(f.Context(), 6*quick)
		defer cancel()
		_, err := b.acquire(ctx, host)
		delay, is := errors.AsType[*politeness.DelayError](err)
		if !is || delay.Err == nil || !delay.Until.After(time.Now()) {
			f.Errorf("error %v, want a DelayError with the reason and a future time", err)
		}
		if s := b.limiter.Stats(); s.Waiting != 0 {
			f.Errorf("Stats() = %+v, want none waiting", s)
		}
	})
}

// A request waits for a host that another member owns. Trace.Queued is called
// again only when the estimated start of the request changes.
func TestHandOver_QueuedIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		g := a.begin(t.Context(), host)
		calls := 0
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		trace := &politeness.Trace{Queued: func(time.Time, politeness.Reason) { calls++ }}
		b.limiter.Acquire(politeness.WithTrace(ctx, trace), page(host))
		g.Done(ok200)
		if calls > 3 {
			t.Errorf("Queued was called %d times in 30s, want at most 3", calls)
		}
	})
}
