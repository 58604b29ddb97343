package redislimit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// A host is paused for an hour. A minute before the end, Redis loses its data,
// and the owner registers the host again with the record that it stored at the
// begin of the pause. The pause does not start again.
func TestStateAge_OwnPauseAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a := f.join(&politeness.Limiter{})
		a.request(host, tooMany("3600"))
		paused := time.Now()
		go func() {
			time.Sleep(59 * time.Minute)
			f.memory.flush()
		}()
		a.mustStartBetween(paused, time.Hour, time.Hour+2*time.Second)
	})
}

// A member takes over a host with a pause of 10 min, waits for its end and
// sends requests for half an hour. Then Redis loses its data. The member still
// has the record of the earlier owner, but the pause is over.
func TestStateAge_ImportedPauseAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		a.request(host, quota("0", "600"))
		b.crawl()
		time.Sleep(40 * time.Minute)
		if n, _ := b.startsSince(time.Now().Add(-20 * time.Second)); n < 15 {
			t.Errorf("the second member started %d requests in 20s, want 15 at least", n)
		}
		f.memory.flush()
		time.Sleep(3 * time.Second)
		flushed := time.Now()
		time.Sleep(20 * time.Second)
		if n, _ := b.startsSince(flushed); n < 15 {
			t.Errorf("after the loss of data, the owner started %d requests in 20s, want 15 at least", n)
		}
	})
}

// The owner of a paused host registers it again after a loss of data, and is
// killed. The next owner does not prolong the pause.
func TestStateAge_PauseOfAKilledOwnerAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		a.request(host, tooMany("1800"))
		paused := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.acquire(ctx, host) // keeps the ownership
		time.Sleep(28 * time.Minute)
		f.memory.flush()
		time.Sleep(3 * time.Second)
		a.kill()
		b.mustStartBetween(paused, 30*time.Minute, 30*time.Minute+2*time.Second)
		cancel()
		synctest.Wait()
	})
}

// The owner is cut off for 8 s when a pause begins. The owner stores the pause
// after that, and is killed. The pause does not become longer by these 8 s.
func TestStateAge_PauseStoredAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		g := a.begin(f.ctx, host)
		time.Sleep(3 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.acquire(ctx, host) // keeps the ownership
		a.cutOff()
		g.Done(tooMany("60"))
		paused := time.Now()
		time.Sleep(8 * time.Second)
		a.reconnect()
		time.Sleep(3 * time.Second)
		a.kill()
		b.mustStartBetween(paused, time.Minute, time.Minute+2*time.Second)
		cancel()
		synctest.Wait()
	})
}

// The only member is cut off for 8 s after it has stored a pause. The epoch's
// age misses most of these 8 s, but the owner knows when its own pause ends.
func TestStateAge_OwnPauseAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a := f.join(&politeness.Limiter{})
		a.request(host, tooMany("60"))
		paused := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			a.cutOff()
			time.Sleep(8 * time.Second)
			a.reconnect()
		}()
		a.mustStartBetween(paused, time.Minute, time.Minute+2*time.Second)
	})
}

// A member is cut off for 8 s when a request of a host that it has given away
// ends with a 429. The owner receives the pause after that. It does not become
// longer by these 8 s.
func TestStateAge_LatePauseAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(twoAtOnce()), f.join(twoAtOnce())
		slow := a.begin(f.ctx, host)
		b.request(host, ok200)
		a.cutOff()
		slow.Done(tooMany("60"))
		paused := time.Now()
		time.Sleep(8 * time.Second)
		a.reconnect()
		time.Sleep(3 * time.Second)
		b.mustStartBetween(paused, time.Minute, time.Minute+2*time.Second)
	})
}

// A member sends a state that it exported a minute ago: at once, or again in a
// new epoch. Redis returns the age since the export, and keeps the state for
// the remainder of its time.
func TestScript_StateAge(t *testing.T) {
	const age = time.Minute
	dated := func(state string) datedRecord {
		return datedRecord{fleet.Record{State: []byte(state), Keep: 2 * time.Hour}, time.Now().Add(-age)}
	}
	mustBeOld := func(f *testFleet, got time.Duration) {
		f.Helper()
		if got < age || got > age+3*time.Second {
			f.Errorf("the age of the state is %v, want %v to %v", got, age, age+3*time.Second)
		}
	}
	for _, name := range []string{"keep", "give"} {
		t.Run(name, func(t *testing.T) {
			runFleetTest(t, func(f *testFleet) {
				a := f.joinScript(0)
				f.openEpoch(a)
				a.own()
				a.host.record = dated("state")
				a.send(name)
				result := a.own()
				mustBeOld(f, milliseconds(result, 4))
				if left := milliseconds(result, 9); left > 2*time.Hour-age {
					f.Errorf("the state is kept for %v more, want at most %v", left, 2*time.Hour-age)
				}
			})
		})
	}
	t.Run("register", func(t *testing.T) {
		runFleetTest(t, func(f *testFleet) {
			a := f.joinScript(0)
			a.join()
			a.host.record = dated("state")
			a.send("register")
			mustBeOld(f, milliseconds(a.own(), 4))
		})
	})
	t.Run("land", func(t *testing.T) {
		runFleetTest(t, func(f *testFleet) {
			a, b := f.joinScript(0), f.joinScript(0)
			f.openEpoch(a, b)
			a.own()
			a.send("give")
			a.host.lateRecord = dated("late")
			a.send("land")
			mustBeOld(f, milliseconds(element[[]any](b.own(), 8), 1))
		})
	})
}
