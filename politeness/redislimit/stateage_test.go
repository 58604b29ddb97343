package redislimit

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// spentQuota is a response after which no request may start for the given
// number of seconds. It does not change the back-off.
func spentQuota(seconds string) politeness.Outcome {
	return politeness.Outcome{Status: http.StatusOK, Header: http.Header{
		"X-Ratelimit-Remaining": {"0"},
		"X-Ratelimit-Reset":     {seconds},
	}}
}

// A host is paused for an hour. A minute before the end, Redis loses its data,
// and the owner registers the host again with the record that it stored at the
// begin of the pause. The pause does not start again.
func TestStateAge_OwnPauseAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a := c.member(&politeness.Limiter{})
		defer a.Close()
		a.ask(t, time.Minute, tooMany("3600"))
		paused := time.Now()
		go func() {
			time.Sleep(59 * time.Minute)
			c.memory.flush()
		}()
		waitForHost(t, a)
		if after := time.Since(paused); after < time.Hour || after > time.Hour+2*time.Second {
			t.Errorf("the next request started %v after the 429, want 1 h", after)
		}
	})
}

// waitForHost makes a request that waits for up to four hours.
func waitForHost(t *testing.T, s *sailor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
	defer cancel()
	g, err := s.limiter.Acquire(ctx, page(host))
	if err != nil {
		t.Fatal(err)
	}
	g.Done(ok200)
}

// A member takes over a host with a pause of 10 min, waits for its end and
// sends requests for half an hour. Then Redis loses its data. The member still
// has the record of the earlier owner, but the pause is over.
func TestStateAge_ImportedPauseAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		a.ask(t, time.Minute, spentQuota("600"))
		ctx, cancel := context.WithCancel(t.Context())
		var requests crawling
		requests.start(ctx, b.limiter)
		time.Sleep(40 * time.Minute)
		if n, _ := requests.since(time.Now().Add(-20 * time.Second)); n < 15 {
			t.Errorf("the second member started %d requests in 20 s", n)
		}
		c.memory.flush()
		time.Sleep(3 * time.Second)
		flushed := time.Now()
		time.Sleep(20 * time.Second)
		if n, _ := requests.since(flushed); n < 15 {
			t.Errorf("after the loss of data, the owner started %d requests in 20 s", n)
		}
		cancel()
		requests.wg.Wait()
	})
}

// The owner of a paused host registers it again after a loss of data, and is
// killed. The next owner does not prolong the pause.
func TestStateAge_PauseOfAKilledOwnerAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		a.ask(t, time.Minute, tooMany("1800"))
		paused := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.limiter.Acquire(ctx, page(host)) // keeps the ownership
		time.Sleep(28 * time.Minute)
		c.memory.flush()
		time.Sleep(3 * time.Second)
		a.die()
		b.mustStartBetween(t, paused, 30*time.Minute, 30*time.Minute+2*time.Second)
		cancel()
		synctest.Wait()
	})
}

// The owner is cut off for 8 s when a pause begins. The owner stores the pause
// after that, and is killed. The pause does not become longer by these 8 s.
func TestStateAge_PauseStoredAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		g := a.begin(t)
		time.Sleep(3 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.limiter.Acquire(ctx, page(host)) // keeps the ownership
		a.link.sever(true)
		g.Done(tooMany("60"))
		paused := time.Now()
		time.Sleep(8 * time.Second)
		a.link.sever(false)
		time.Sleep(3 * time.Second)
		a.die()
		b.mustStartBetween(t, paused, time.Minute, time.Minute+2*time.Second)
		cancel()
		synctest.Wait()
	})
}

// The only member is cut off for 8 s after it has stored a pause. The epoch's
// age misses most of these 8 s, but the owner knows when its own pause ends.
func TestStateAge_OwnPauseAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a := c.member(&politeness.Limiter{})
		defer a.Close()
		a.ask(t, time.Minute, tooMany("60"))
		paused := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			a.link.sever(true)
			time.Sleep(8 * time.Second)
			a.link.sever(false)
		}()
		waitForHost(t, a)
		if after := time.Since(paused); after < time.Minute || after > time.Minute+2*time.Second {
			t.Errorf("the next request started %v after the 429, want 1 min", after)
		}
	})
}

// A member is cut off for 8 s when a request of a host that it has given away
// ends with a 429. The owner receives the pause after that. It does not become
// longer by these 8 s.
func TestStateAge_LatePauseAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(twoAtOnce()), c.member(twoAtOnce())
		defer a.Close()
		defer b.Close()
		slow := a.begin(t)
		b.mustAsk(t, ok200)
		a.link.sever(true)
		slow.Done(tooMany("60"))
		paused := time.Now()
		time.Sleep(8 * time.Second)
		a.link.sever(false)
		time.Sleep(3 * time.Second)
		b.mustStartBetween(t, paused, time.Minute, time.Minute+2*time.Second)
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
	mustBeOld := func(s *scene, got time.Duration) {
		s.Helper()
		if got < age || got > age+3*time.Second {
			s.Errorf("the age of the state is %v, want %v", got, age)
		}
	}
	for _, name := range []string{"keep", "give"} {
		t.Run(name, func(t *testing.T) {
			runScene(t, func(s *scene) {
				a := s.member(0)
				s.open(a)
				a.own()
				a.host.record = dated("state")
				a.send(name)
				result := a.own()
				mustBeOld(s, milliseconds(result, 4))
				if left := milliseconds(result, 9); left > 2*time.Hour-age {
					s.Errorf("the state is kept for %v more, want 2 h less its age", left)
				}
			})
		})
	}
	t.Run("register", func(t *testing.T) {
		runScene(t, func(s *scene) {
			a := s.member(0)
			a.join()
			a.host.record = dated("state")
			a.send("register")
			mustBeOld(s, milliseconds(a.own(), 4))
		})
	})
	t.Run("land", func(t *testing.T) {
		runScene(t, func(s *scene) {
			a, b := s.member(0), s.member(0)
			s.open(a, b)
			a.own()
			a.send("give")
			a.host.lateRecord = dated("late")
			a.send("land")
			mustBeOld(s, milliseconds(element[[]any](b.own(), 8), 1))
		})
	})
}
