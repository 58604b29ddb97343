package politeness

import (
	"testing"
	"testing/synctest"
	"time"
)

// A Grant without Done frees its slot when its lease is over. A late Done does
// not free the slot of a later request.
func TestLease_GrantWithoutDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Lease: time.Minute}
		u := mustURL(t, "http://example.com/")
		lost, _ := l.Acquire(t.Context(), u)
		zero := time.Now()
		g, err := l.Acquire(t.Context(), u)
		if err != nil || time.Since(zero) != time.Minute {
			t.Fatalf("Acquire: error %v after %v, want none after the lease of 1m0s", err, time.Since(zero))
		}
		lost.Done(Outcome{Status: 429, Header: retryIn("3600")})
		if s := l.Stats(); s.InFlight != 1 {
			t.Errorf("Stats() = %+v, want 1 in flight", s)
		}
		g.Done(Outcome{})
		if wait := time.Until(l.Next(u)); wait != time.Hour {
			t.Errorf("after a late 429, Next is in %v, want 1h", wait)
		}
	})
}
