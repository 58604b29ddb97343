package redislimit

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// After Close, every request ends within a second, also one that waits without
// a deadline. Its error names the fleet.
func TestClose_EndsAllRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{Delay: time.Hour}), c.member(&politeness.Limiter{Delay: time.Hour})
		defer b.Close()
		a.ask(t, time.Minute, ok200)
		time.Sleep(time.Minute) // so that both have a session
		ended := make(chan error, 6)
		for _, host := range []string{"shop.example", "shop.example", "other.example", "other.example"} {
			go func() {
				g, err := a.limiter.Acquire(context.Background(), &url.URL{Host: host})
				g.Done(ok200)
				ended <- err
			}()
		}
		synctest.Wait()
		<-ended // other.example is free
		a.Close()
		go func() {
			_, err := a.limiter.Acquire(context.Background(), &url.URL{Host: "new.example"})
			ended <- err
		}()
		for range 4 {
			select {
			case err := <-ended:
				d, is := errors.AsType[*politeness.DelayError](err)
				if !is || !errors.Is(err, errClosed) || d.Reason != politeness.ReasonFleet {
					t.Errorf("%v, want a DelayError that says that the Fleet is closed (%+v)", err, d)
				}
			case <-time.After(time.Second):
				t.Error("a request still waits a second after Close")
			}
		}
	})
}

// A second Limiter on one Fleet gets an error at once, and the first goes on.
func TestFleet_SecondLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a := c.member(&politeness.Limiter{})
		defer a.Close()
		a.ask(t, time.Minute, ok200)
		began := time.Now()
		_, err := (&politeness.Limiter{Fleet: a.Fleet}).Acquire(context.Background(), &url.URL{Host: "shop.example"})
		if d, is := errors.AsType[*politeness.DelayError](err); !is || !errors.Is(err, errShared) || d.Reason != politeness.ReasonFleet || time.Since(began) > time.Second {
			t.Errorf("after %v: %v, want a DelayError that names the two Limiters", time.Since(began), err)
		}
		if waited, err := a.ask(t, time.Minute, ok200); err != nil || waited > time.Second {
			t.Errorf("the first Limiter waits %v: %v", waited, err)
		}
	})
}

// A 429 is told at once: it is not lost although its owner dies a moment later.
func TestFleet_PauseIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		a.ask(t, time.Minute, ok200)
		time.Sleep(1500 * time.Millisecond) // in the middle between two beats
		a.ask(t, time.Minute, tooMany("120"))
		paused := time.Now()
		time.Sleep(10 * time.Millisecond)
		a.die()
		b.mustStartBetween(t, paused, 120*time.Second, 122*time.Second)
	})
}

// A 429 to a request in flight of a host that was given away reaches the owner.
func TestFleet_PauseLearntAfterTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		two := func() *politeness.Limiter { return &politeness.Limiter{Concurrency: 2} }
		a, b := c.member(two()), c.member(two())
		defer a.Close()
		defer b.Close()
		g := a.begin(t)
		if waited, err := b.ask(t, time.Minute, ok200); err != nil || waited > 3*time.Second {
			t.Fatalf("the host is not handed over in flight: %v, %v", waited, err)
		}
		g.Done(tooMany("60"))
		time.Sleep(10 * time.Millisecond)
		if waited, err := b.ask(t, 10*time.Minute, ok200); err != nil || waited < 59*time.Second || waited > 61*time.Second {
			t.Errorf("the owner waits %v, want a minute (%v)", waited, err)
		}
	})
}

// A process that runs for 2 s every minute obeys a Retry-After of 90 s, and
// asks within two runs of its end.
func TestFleet_Cron(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		first := c.member(&politeness.Limiter{})
		time.Sleep(time.Second)
		first.ask(t, time.Minute, ok200) // the fleet is not new
		first.Close()
		time.Sleep(time.Minute)
		var paused time.Time
		for run := range 5 {
			s := c.member(&politeness.Limiter{})
			o := ok200
			if run == 0 {
				o = tooMany("90")
				paused = time.Now()
			}
			_, err := s.ask(t, 2*time.Second, o)
			s.Close()
			switch after := time.Since(paused); {
			case run == 0 && err != nil:
				t.Fatal(err)
			case run > 0 && err == nil && after < 90*time.Second:
				t.Fatalf("asked %v after the 429", after)
			case run > 0 && err == nil:
				return
			}
			time.Sleep(58 * time.Second)
		}
		t.Error("the host is not asked any more")
	})
}

// Member b owns a host that is paused by a Retry-After. Then a request that a
// had in flight when it gave the host away ends with a shorter Retry-After, and
// b dies. The next owner keeps the longer pause.
func TestFleet_LatePauseBeforeTheOwnerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b, next := c.member(twoAtOnce()), c.member(twoAtOnce()), c.member(twoAtOnce())
		defer a.Close()
		defer b.Close()
		defer next.Close()
		slow := a.begin(t)
		b.mustAsk(t, tooMany("28"))
		paused := time.Now()
		time.Sleep(time.Second)
		slow.Done(tooMany("1"))
		time.Sleep(10 * time.Millisecond)
		b.die()
		next.mustStartBetween(t, paused, 28*time.Second, 45*time.Second)
	})
}

// A member waits for a host while a late pause is stored. When it becomes the
// owner, it starts no request before it knows of the pause, even if its
// Observer is slow.
func TestFleet_LatePauseBeforeTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b, next := c.member(twoAtOnce()), c.member(twoAtOnce()), c.member(twoAtOnce())
		defer a.Close()
		defer b.Close()
		defer next.Close()
		slow := a.begin(t)
		b.mustAsk(t, ok200)
		b.Close()
		slow.Done(tooMany("20"))
		time.Sleep(10 * time.Millisecond)
		next.limiter.Observer = &politeness.Observer{
			Owned: func(context.Context, politeness.Event) { time.Sleep(time.Second) },
		}
		if waited, err := next.ask(t, time.Minute, ok200); err != nil || waited < 19*time.Second {
			t.Errorf("the next owner waits %v, want 20 s (%v)", waited, err)
		}
	})
}

// Redis loses its data while a request is in flight whose host was given back.
// The request ends with a 429 before the new epoch hands out hosts. The pause
// is stored, and counts, from the time when the epoch does.
func TestFleet_LatePauseInANewEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b, next := c.member(twoAtOnce()), c.member(twoAtOnce()), c.member(twoAtOnce())
		defer a.Close()
		defer b.Close()
		defer next.Close()
		slow := a.begin(t)
		b.mustAsk(t, ok200)
		b.Close()
		c.memory.flush()
		time.Sleep(3 * time.Second) // a begins the new epoch
		slow.Done(tooMany("120"))
		paused := time.Now()
		time.Sleep(15 * time.Second)
		next.mustStartBetween(t, paused, 120*time.Second, 132*time.Second)
	})
}

// A member owns a host that another member has paused for a day. Redis loses
// its data, the member registers the host in the new epoch, and dies. The pause
// is still known hours later.
func TestFleet_LongPauseAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b, other := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		defer other.Close()
		g, err := other.limiter.Acquire(t.Context(), &url.URL{Host: "other.example"})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Done(ok200) // so that a member notices the death
		a.ask(t, time.Minute, tooMany("86400"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go b.limiter.Acquire(ctx, &url.URL{Host: "shop.example"})
		time.Sleep(5 * time.Second)
		c.memory.flush()
		time.Sleep(heartbeatInterval / 2) // it has registered the host, and has stored nothing since
		b.die()
		time.Sleep(4 * time.Hour)
		if waited, err := other.ask(t, time.Minute, ok200); err == nil {
			t.Errorf("a request starts after %v, want a pause of 20 h", waited)
		}
		cancel()
		synctest.Wait()
	})
}

// A request that was in flight when its host was handed over is answered with
// a pause of a day. A member becomes the host's owner, Redis loses its data,
// and the member dies. The pause is still known later.
func TestFleet_LatePauseAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b, owner, other := c.member(twoAtOnce()), c.member(twoAtOnce()), c.member(twoAtOnce()), c.member(twoAtOnce())
		defer a.Close()
		defer b.Close()
		defer owner.Close()
		defer other.Close()
		g, err := other.limiter.Acquire(t.Context(), &url.URL{Host: "other.example"})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Done(ok200) // so that a member notices the death
		slow := a.begin(t)
		b.mustAsk(t, ok200)
		b.Close()
		slow.Done(tooMany("86400"))
		time.Sleep(10 * time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go owner.limiter.Acquire(ctx, &url.URL{Host: "shop.example"})
		time.Sleep(10 * time.Second)
		c.memory.flush()
		time.Sleep(heartbeatInterval * 3 / 2)
		owner.die()
		time.Sleep(40 * time.Minute)
		if waited, err := other.ask(t, time.Minute, ok200); err == nil {
			t.Errorf("a request starts after %v, want a pause of 23 h", waited)
		}
		cancel()
		synctest.Wait()
	})
}
