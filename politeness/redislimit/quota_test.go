package redislimit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A host allows ten more requests in 60 s, which the owner spreads. The next
// owner keeps the same interval: before its first request, and after it.
func TestQuota_IsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		g := a.begin(f.ctx, host)
		started := time.Now()
		g.Done(quota("10", "60"))
		for range 3 {
			b.request(host, ok200)
			if after := time.Since(started); after < 5*time.Second || after > 8100*time.Millisecond {
				t.Errorf("the next request started %v after the one before, want 5s to 8.1s", after)
			}
			started = time.Now()
		}
	})
}
