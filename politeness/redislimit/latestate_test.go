package redislimit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// Each of these tests has a request in flight when its host is given back. The
// request ends with a 429, so the member reports a late state.

// A member gives a host away while a request to the host is in flight. If the
// response is a 429, the next owner receives the pause.
func TestLateState_ReachesTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{Concurrency: 2}), f.join(&politeness.Limiter{Concurrency: 2})
		g := a.begin(t.Context(), host)
		if waited, err := b.tryRequest(host, time.Minute, ok200); err != nil || waited > 3*time.Second {
			t.Fatalf("the next owner waited %v while a request was in flight, error %v; want at most 3s and none", waited, err)
		}
		g.Done(tooMany("60"))
		time.Sleep(10 * time.Millisecond)
		if waited, err := b.tryRequest(host, 10*time.Minute, ok200); err != nil || waited < 59*time.Second || waited > 61*time.Second {
			t.Errorf("the owner waited %v after the 429, error %v; want 59s to 61s and none", waited, err)
		}
	})
}

// A late 429 with a short Retry-After does not replace the delay.
func TestLateState_KeepsTheDelay(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		// Member b waits, so a gives the host away after 2 s. Member b gives it
		// back at once when it no longer waits, because the host is not due for
		// a long time. Then the request of a ends with a 429.
		slowly := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: 40 * time.Second, Concurrency: 2}
		}
		a, b, c := f.join(slowly()), f.join(slowly()), f.join(slowly())
		slow := a.begin(f.Context(), host)
		ctx, cancel := context.WithCancel(f.Context())
		time.AfterFunc(4*time.Second, cancel)
		if _, err := b.acquire(ctx, host); !errors.Is(err, context.Canceled) {
			f.Errorf("member 1: a request that is canceled after 4s: error %v, want %v", err, context.Canceled)
		}
		time.Sleep(2 * quick)
		slow.Done(tooMany("1"))
		time.Sleep(2 * quick)
		c.mustNotStart(3*time.Second, 30*time.Second)
	})
}

// A late 429 with a short Retry-After does not shorten another member's pause.
func TestLateState_KeepsALongerPause(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b, c := f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce())
		slow := a.begin(f.Context(), host)
		b.request(host, tooMany("60"))
		time.Sleep(2 * quick) // b gives the host back, because the pause is long
		slow.Done(tooMany("1"))
		time.Sleep(2 * quick)
		c.mustNotStart(3*time.Second, 50*time.Second)
	})
}

// A late 429 pauses the host even if Redis no longer stores the host.
func TestLateState_RemovedHost(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b, c := f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce())
		slow := a.begin(f.Context(), host)
		b.request(host, ok200) // b gives the host back when it is due
		c.removeUnneededHosts()
		slow.Done(tooMany("60"))
		time.Sleep(2 * quick)
		c.mustNotStart(3*time.Second, 50*time.Second)
	})
}

// Member b owns a host that is paused by a Retry-After. Then a request that a
// had in flight when it gave the host away ends with a shorter Retry-After, and
// b is killed. The next owner keeps the longer pause.
func TestLateState_BeforeTheOwnerIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b, next := f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce())
		slow := a.begin(t.Context(), host)
		b.request(host, tooMany("28"))
		paused := time.Now()
		time.Sleep(time.Second)
		slow.Done(tooMany("1"))
		time.Sleep(10 * time.Millisecond)
		b.kill()
		next.mustStartBetween(paused, 28*time.Second, 45*time.Second)
	})
}

// A member waits for a host while a late pause is stored. When it becomes the
// owner, it starts no request before it knows of the pause, even if its
// Observer is slow.
func TestLateState_BeforeTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b, next := f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce())
		slow := a.begin(t.Context(), host)
		b.request(host, ok200)
		b.Close()
		slow.Done(tooMany("20"))
		time.Sleep(10 * time.Millisecond)
		next.limiter.Observer = &politeness.Observer{
			Owned: func(context.Context, politeness.Event) { time.Sleep(time.Second) },
		}
		if waited, err := next.tryRequest(host, time.Minute, ok200); err != nil || waited < 19*time.Second {
			t.Errorf("the next owner waited %v after the 429, error %v; want at least 19s and none", waited, err)
		}
	})
}

// Redis loses its data while a request is in flight whose host was given back.
// The request ends with a 429 before the new epoch hands out hosts. The pause
// is stored when the new epoch hands out hosts, and the next owner must know
// it.
func TestLateState_InANewEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b, next := f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce())
		slow := a.begin(t.Context(), host)
		b.request(host, ok200)
		b.Close()
		f.memory.flush()
		time.Sleep(3 * time.Second) // a begins the new epoch
		slow.Done(tooMany("120"))
		paused := time.Now()
		time.Sleep(15 * time.Second)
		next.mustStartBetween(paused, 120*time.Second, 132*time.Second)
	})
}

// A request that was in flight when its host was handed over is answered with
// a pause of a day. A member becomes the host's owner, Redis loses its data,
// and the member is killed. The pause is still known later.
func TestLateState_AfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b, owner, other := f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce()), f.join(twoAtOnce())
		g := other.begin(t.Context(), "other.example")
		defer g.Done(ok200) // keeps the session, so that this member notices when the other one is killed
		slow := a.begin(t.Context(), host)
		b.request(host, ok200)
		b.Close()
		slow.Done(tooMany("86400"))
		time.Sleep(10 * time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go owner.acquire(ctx, host)
		time.Sleep(10 * time.Second)
		f.memory.flush()
		time.Sleep(heartbeatInterval * 3 / 2)
		owner.kill()
		time.Sleep(40 * time.Minute)
		if waited, err := other.tryRequest(host, time.Minute, ok200); err == nil {
			t.Errorf("a request starts after %v, want none within 1m0s, because the pause lasts 23h more", waited)
		}
		cancel()
		synctest.Wait()
	})
}

// slowReplies delays the replies to calls that request a host while on is set.
type slowReplies struct {
	*link
	on atomic.Bool
}

func (l *slowReplies) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := l.link.run(ctx, args)
	if l.on.Load() && slices.Contains(args, any("want")) {
		time.Sleep(200 * time.Millisecond)
	}
	return reply, err
}

// A member has given a host back while a request was in flight, and requests
// the host again. The request in flight ends with a 429 after Redis has made
// the member the owner, but before the reply arrives. The member is then killed
// or closed. The next owner must know the pause.
func TestLateState_WhileReplyIsOnItsWay(t *testing.T) {
	for name, leave := range map[string]func(*testMember){
		"killed": func(m *testMember) { m.kill() },
		"closed": func(m *testMember) { m.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFleet(t)
				a, b := f.join(&politeness.Limiter{Concurrency: 2}), f.join(&politeness.Limiter{Concurrency: 2})
				engine := &slowReplies{link: a.link}
				a.Fleet.engine = engine
				slow := a.begin(t.Context(), host)
				b.request(host, ok200)
				time.Sleep(3 * time.Second) // b gives the host back
				engine.on.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go a.acquire(ctx, host) // waits until the end of the test
				time.Sleep(50 * time.Millisecond)
				slow.Done(tooMany("60"))
				paused := time.Now()
				time.Sleep(500 * time.Millisecond)
				leave(a)
				b.mustStartBetween(paused, time.Minute, time.Minute+time.Second)
				cancel()
				time.Sleep(time.Second) // the last reply arrives
			})
		})
	}
}

// A request outlives the Limiter's Lease, so the host is given back as if no
// request were in flight. Then the request ends with a 429. The owner must
// know the pause, even if the member's session has ended.
func TestLateState_AfterLimiterLease(t *testing.T) {
	for name, keepsSession := range map[string]bool{"session": true, "session has ended": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFleet(t)
				a, b := f.join(&politeness.Limiter{Lease: 3 * time.Second}), f.join(&politeness.Limiter{})
				slow := a.begin(t.Context(), host)
				b.request(host, ok200)
				time.Sleep(8 * time.Second)
				if keepsSession {
					g := a.begin(t.Context(), "other.example")
					defer g.Done(ok200)
				}
				if a.hasSession() != keepsSession {
					t.Errorf("the member has a session: %t, want %t", !keepsSession, keepsSession)
				}
				paused := time.Now()
				slow.Done(tooMany("60"))
				time.Sleep(500 * time.Millisecond)
				b.mustStartBetween(paused, time.Minute, time.Minute+2*time.Second)
			})
		})
	}
}

// A member is cut off from Redis while a request is in flight, which ends with
// a 429. The session of the member ends, so another member owns the host when
// the first member can reach Redis again. The owner must then receive the pause
// and its end.
func TestLateState_WhileCutOff(t *testing.T) {
	for name, isWanted := range map[string]bool{"a request waits": true, "no request waits": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFleet(t)
				a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
				needed := a.begin(t.Context(), "other.example") // keeps the goroutine alive
				defer needed.Done(ok200)
				slow := a.begin(t.Context(), host)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b.crawl()
				time.Sleep(time.Second)
				if isWanted {
					go a.acquire(ctx, host)
				}
				a.cutOff()
				time.Sleep(3 * time.Second)
				slow.Done(tooMany("120"))
				paused := time.Now()
				time.Sleep(20 * time.Second)
				if n, _ := b.startsSince(paused); n == 0 {
					t.Error("the other member started no request, so it does not own the host")
				}
				a.reconnect()
				time.Sleep(3 * time.Second)
				returned := time.Now()
				time.Sleep(90 * time.Second)
				if n, _ := b.startsSince(returned); n > 0 {
					t.Errorf("%d requests started during the pause, want 0", n)
				}
				cancel()
				b.stopCrawling()
				f.Wait()
				b.mustStartBetween(paused, 2*time.Minute, 2*time.Minute+2*time.Second)
			})
		})
	}
}

// becomeUnawareOwner makes m the owner of the host without its knowledge: m has
// given the host back while a request was in flight, has requested it again,
// and the reply was lost.
func (m *scriptMember) becomeUnawareOwner() {
	m.f.Helper()
	m.own()
	m.host.record.InFlight = 1
	m.send("give")
	m.send("want") // the reply is lost
	m.host.record.InFlight = 0
}

// A member is the owner of a host and does not know it. A request that was in
// flight when it gave the host back ends with a 429. The member reports this as
// a late state and is killed. The next owner must receive the late state.
func TestLateState_UnawareOwnerDies(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.joinScript(0), f.joinScript(0)
		f.openEpoch(a, b)
		a.becomeUnawareOwner()
		a.host.lateRecord = datedRecord{fleet.Record{State: []byte("late"), Keep: time.Minute}, time.Now()}
		a.send("land")
		c := b.newCall(false)
		c.addEnd(endedSession{a.session, a.callNumber})
		if _, err := b.runScript(c.args); err != nil {
			f.Fatal(err)
		}
		late := element[[]any](b.own(), 8)
		if len(late) != 3 || element[string](late, 2) != "late" {
			f.Errorf("the late states (number, age, state) are %v, want only that with the state %q", late, "late")
		}
	})
}

// A member is the owner of a host and does not know it. It reports a late state
// and then learns that it is the owner. It receives its late state beside the
// stored state, and what it stores after that replaces both.
func TestLateState_UnawareOwnerLearns(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.joinScript(0), f.joinScript(0)
		f.openEpoch(a, b)
		a.host.record = datedRecord{fleet.Record{State: []byte("given back"), Keep: time.Minute}, time.Now()}
		a.becomeUnawareOwner()
		a.host.lateRecord = datedRecord{fleet.Record{State: []byte("late"), Keep: time.Minute}, time.Now()}
		a.send("land")
		result := a.own()
		late := element[[]any](result, 8)
		if state := element[string](result, 3); state != "given back" || len(late) != 3 || element[string](late, 2) != "late" {
			f.Errorf("the result of the operation is %v, want the state %q and one late state, %q", result, "given back", "late")
		}
		a.host.lateNumber = element[int64](late, 0)
		a.host.record = datedRecord{fleet.Record{State: []byte("newer"), Keep: time.Minute}, time.Now()}
		a.send("keep")
		a.send("give")
		result = b.own()
		if state := element[string](result, 3); state != "newer" || len(element[[]any](result, 8)) != 0 {
			f.Errorf("the result of the next owner's operation is %v, want the state %q and no late state", result, "newer")
		}
	})
}

// A member is the owner of a host and does not know it. The last of its
// requests in flight ends. The next owner does not wait for it.
func TestLateState_UnawareOwnerHasNothingInFlight(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.joinScript(0), f.joinScript(0)
		f.openEpoch(a, b)
		a.becomeUnawareOwner()
		a.host.lateRecord = datedRecord{}
		a.send("land")
		a.send("drop")
		if flight := element[int64](b.own(), 7); flight != 0 {
			f.Errorf("the next owner receives %d requests of other members in flight, want none", flight)
		}
	})
}

// lostReplies loses the replies to calls that request a host while on is set.
type lostReplies struct {
	*link
	on atomic.Bool
}

func (l *lostReplies) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := l.link.run(ctx, args)
	if l.on.Load() && slices.Contains(args, any("want")) {
		<-ctx.Done()
		return nil, errCut
	}
	return reply, err
}

// A member has given a host back while a request was in flight, and requests
// the host again. Redis makes it the owner, but the reply is lost. The request
// in flight ends with a 429. The reply to the call that reports this is lost
// too, and the member is killed. The next owner must know the pause.
func TestLateState_RepliesAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(twoAtOnce()), f.join(twoAtOnce())
		engine := &lostReplies{link: a.link}
		a.Fleet.engine = engine
		slow := a.begin(t.Context(), host)
		b.request(host, ok200)
		time.Sleep(3 * time.Second) // b gives the host back
		engine.on.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.acquire(ctx, host) // waits until the end of the test
		time.Sleep(50 * time.Millisecond)
		if f.memory.snapshot().hosts[host].owner == 0 {
			t.Fatal("the first member is not the owner of the host after its request, want the owner")
		}
		slow.Done(tooMany("60"))
		paused := time.Now()
		time.Sleep(3 * time.Second) // the first call times out, and the second one runs
		a.kill()
		// The age of a late state counts from the latest call that reports it.
		b.mustStartBetween(paused, time.Minute, time.Minute+3*time.Second)
		cancel()
		synctest.Wait()
	})
}
