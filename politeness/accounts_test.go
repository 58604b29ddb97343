package politeness

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A Budget was spent while the clock was a year ahead. When the clock has been
// set right, requests are granted again, without waiting for a year.
func TestBudget_ClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://shop.example/")
		l := &Limiter{Delay: -1, Budget: Budget{Requests: 3}}
		use := func() (n int) {
			for {
				g, err := l.Acquire(t.Context(), u)
				if err != nil {
					if _, ok := errors.AsType[*DelayError](err); !ok {
						t.Fatal(err)
					}
					return n
				}
				g.Done(Outcome{Status: 200})
				n++
			}
		}
		today := use()
		l.mu.Lock() // as if the clock were a year ahead
		l.day += 365
		l.accounts["shop.example"] = &account{day: l.day, taken: amount{requests: 3}}
		l.accounts["fleet.example"] = &account{day: l.day - 364, taken: amount{requests: 3}}
		l.mu.Unlock()
		if n := use(); today != 3 || n != 3 {
			t.Errorf("%d requests, and %d when the clock was right again; want 3 and 3", today, n)
		}
		if l.accounts["fleet.example"] == nil {
			t.Error("what a clock a day ahead has told is forgotten")
		}
		time.Sleep(24 * time.Hour)
		if n := use(); n != 3 {
			t.Errorf("%d requests on the next day, want 3", n)
		}
	})
}
