package redislimit

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A Budget is that of all members together.
func TestBudget_IsShared(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		f.skipAtMidnight()
		const requests = 50
		var total atomic.Int32
		for range 3 {
			m := f.join(&politeness.Limiter{Delay: shortDelay, Budget: politeness.Budget{Requests: requests}})
			f.Go(func() { total.Add(int32(m.exhaustBudget(time.Minute))) })
		}
		f.Wait()
		f.checkIntervals(shortDelay)
		if n := total.Load(); n != requests {
			f.Errorf("%d requests of a Budget of %d", n, requests)
		}
	})
}

// What a member does not use of a Budget is handed over.
func TestBudget_RestIsHandedOver(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		f.skipAtMidnight()
		const requests = 320
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: -1, Budget: politeness.Budget{Requests: requests}}
		}
		a, b := f.join(limiter()), f.join(limiter())
		a.requestMany(1, 5)
		f.Wait()
		time.Sleep(quick) // so that member a gives the host back
		if err := a.Close(); err != nil {
			f.Error(err)
		}
		if n := b.exhaustBudget(time.Minute); n != requests-5 {
			f.Errorf("%d requests, want %d", n, requests-5)
		}
	})
}

// Two members take turns with a host. They use up its whole Budget, however
// much each of them reserves.
func TestBudget_IsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		const requests = 320
		var total atomic.Int32
		for range 2 {
			m := f.join(&politeness.Limiter{Budget: politeness.Budget{Requests: requests}})
			f.Go(func() { total.Add(int32(m.exhaustBudget(time.Hour))) })
		}
		f.Wait()
		if n := total.Load(); n != requests {
			t.Errorf("%d requests of a Budget of %d", n, requests)
		}
	})
}
