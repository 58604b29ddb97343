package redislimit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A host with a Crawl-delay is handed over with a request in flight whose Done
// is never called, and the earlier owner does not need the host again. The next
// owner waits for the end of that request, but only for its lease.
func TestLease_EndsAfterHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Concurrency: 2, Lease: time.Minute}
		}
		f := newTestFleet(t)
		a, b := f.join(limiter()), f.join(limiter())
		other, err := a.limiter.Acquire(t.Context(), page("other.example")) // keeps the session
		if err != nil {
			t.Fatal(err)
		}
		defer other.Done(ok200)
		a.begin(f.ctx, host) // is never done
		started := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		g, err := b.limiter.Acquire(politeness.WithCrawlDelay(ctx, 5*time.Second), page(host))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(ok200)
		if after := time.Since(started); after < time.Minute || after > time.Minute+5*time.Second {
			t.Errorf("the next owner started %v after the first request, want the Lease of 1 min", after)
		}
	})
}
