package redislimit

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// Members take turns with a host. In total they get what one member would get
// alone: the same Budget, the same pauses, and as few events.

// Two members take turns with a host. They use up its whole Budget, however
// much each of them reserves.
func TestTurns_BudgetIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		const requests = 320
		var total atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			s := c.member(&politeness.Limiter{Budget: politeness.Budget{Requests: requests}})
			defer s.Close()
			wg.Go(func() {
				for {
					_, err := s.ask(t, time.Hour, ok200)
					if d, is := errors.AsType[*politeness.DelayError](err); is && d.Reason == politeness.ReasonBudget {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					total.Add(1)
				}
			})
		}
		wg.Wait()
		if n := total.Load(); n != requests {
			t.Errorf("%d requests of a Budget of %d", n, requests)
		}
	})
}

// A pause ends for all members at about the same time, however often the
// waiting members are told of the pause.
func TestTurns_PauseEndsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		var mu sync.Mutex
		var paused time.Time
		next := make(map[int]time.Time)
		stop, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 3 {
			s := c.member(&politeness.Limiter{})
			defer s.Close()
			wg.Go(func() {
				for n := 0; ; n++ {
					g, err := s.limiter.Acquire(stop, &url.URL{Host: "shop.example"})
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
		wg.Wait()
		if len(next) != 3 {
			t.Errorf("%d of 3 members start again after the pause", len(next))
		}
		for i, at := range next {
			t.Logf("member %d starts %v after the 429", i, at.Sub(paused))
			if at.Sub(paused) > 30*time.Second {
				t.Errorf("member %d starts %v after the 429", i, at.Sub(paused))
			}
		}
	})
}

// A request waits for a host that another member owns. Trace.Queued is called
// again only when the estimated start of the request changes.
func TestTurns_QueuedIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		g := a.begin(t)
		told := 0
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		b.limiter.Acquire(politeness.WithTrace(ctx, &politeness.Trace{Queued: func(time.Time, politeness.Reason) { told++ }}), &url.URL{Host: "shop.example"})
		g.Done(ok200)
		if told > 3 {
			t.Errorf("told %d times in 30 s", told)
		}
	})
}
