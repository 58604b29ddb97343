package politeness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// This test does everything at once, in real time, for the race detector. Hosts
// are created and evicted. One Limiter is the Within of another. There are
// deadlines, cancellations, rejections and lost Grants. In the end no request
// may wait or be in flight.
func TestStress(t *testing.T) {
	machine := func(_ context.Context, u *url.URL) (string, error) { return u.Host[:5], nil }
	l := &Limiter{
		Delay: 100 * time.Microsecond, Concurrency: 3, Jitter: 0.2, EndToStart: true,
		Adaptive: 0.1, BackOff: time.Millisecond, MaxBackOff: 4 * time.Millisecond,
		MaxCrawlDelay: time.Millisecond, Lease: 20 * time.Millisecond, MaxHosts: 40,
		GlobalRate: rate.NewLimiter(20000, 10),
		Within: &Limiter{
			Delay: 50 * time.Microsecond, Concurrency: 10, Key: machine, Lease: 20 * time.Millisecond, MaxHosts: 5,
			GlobalRate: rate.NewLimiter(20000, 10),
			Within:     &Limiter{Delay: -1, Concurrency: 30, Key: func(context.Context, *url.URL) (string, error) { return "all", nil }, Lease: 20 * time.Millisecond},
		},
		Observer: &Observer{Granted: func(context.Context, Event) {}, Canceled: func(context.Context, Event) {}, BackedOff: func(context.Context, Event) {}},
	}
	var wg sync.WaitGroup
	for worker := range uint64(50) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(worker, 9309))
			for range 100 {
				u := &url.URL{Scheme: "http", Host: fmt.Sprintf("host%d.example", r.IntN(60))}
				ctx, cancel := context.WithCancel(t.Context())
				switch r.IntN(4) {
				case 0:
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(3000))*time.Microsecond)
				case 1:
					time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, cancel)
				}
				if r.IntN(3) == 0 {
					ctx = WithCrawlDelay(ctx, time.Duration(r.IntN(2000)-1)*time.Microsecond)
				}
				ctx = WithTrace(ctx, &Trace{Queued: func(time.Time, Reason) {}, Granted: func(time.Time) {}})
				g, err := l.Acquire(ctx, u)
				l.Next(u)
				if err == nil && r.IntN(20) > 0 { // one Grant in twenty is lost: its Done is not called
					time.Sleep(time.Duration(r.IntN(500)) * time.Microsecond)
					g.setOnItsWay(false)
					outcome := Outcome{Status: []int{200, 200, 200, 404, 429, 503}[r.IntN(6)], Latency: time.Duration(r.IntN(2_000_000))}
					wg.Go(func() { g.Done(outcome) })
					g.Done(Outcome{Status: 200})
				}
				cancel()
			}
		})
	}
	wg.Wait()
	time.Sleep(50 * time.Millisecond) // until every lease is over
	for _, lim := range []*Limiter{l, l.Within, l.globalStage, l.Within.globalStage} {
		if lim == nil {
			continue
		}
		lim.mu.Lock()
		for h := range lim.hosts.All() {
			lim.expireLeases(lim.now(), h)
			if !lim.hosts.MayBeEvicted(h) {
				t.Errorf("%s may not be evicted, although no request needs it", h.Key)
			}
			if h.IsBusy() || h.OldestInFlight() != nil {
				t.Errorf("%s: %d wait and %d are in flight, want none", h.Key, h.Waiting(), h.InFlight)
			}
		}
		if s := lim.stats; s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("Stats = %+v, want none waiting or in flight", s)
		}
		lim.mu.Unlock()
	}
	t.Logf("%+v", l.Stats())
}
