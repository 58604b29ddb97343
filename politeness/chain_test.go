package politeness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// A robots.txt request goes to the front of its line because a waiting page
// needs it. The request that was first there had a place in the queue of Within
// or GlobalRate, and must leave it: otherwise each of the two waits behind the
// other, and no host of the crawl gets a request any more.
func TestChain_RobotsRequestGoesToTheFront(t *testing.T) {
	for name, limiter := range map[string]func() *Limiter{
		"Within": func() *Limiter {
			return &Limiter{Delay: -1, Concurrency: -1, Within: &Limiter{Key: DomainKey, Delay: 10 * time.Second, Concurrency: -1}}
		},
		"GlobalRate": func() *Limiter {
			return &Limiter{Delay: -1, Concurrency: -1, GlobalRate: rate.NewLimiter(0.1, 1)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limiter()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				request := func(u string, ctx context.Context) {
					g, err := l.Acquire(ctx, mustURL(t, u))
					if err != nil {
						t.Errorf("%s: %v after %v", u, err, time.Since(began))
					}
					g.Done(Outcome{Status: 200})
				}
				robots := WithCrawlDelay(ctx, Exempt)
				request("http://a.example.com/", ctx)
				go request("http://a.example.com:81/robots.txt", robots)
				synctest.Wait()
				go request("http://a.example.com/1", ctx)
				synctest.Wait()
				time.Sleep(time.Second)
				go request("http://a.example.com/robots.txt", robots)
				synctest.Wait()
				go request("http://b.example.com/", ctx)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// After a failed check of a page, the next request for the page's robots.txt
// goes first, but not those after it: otherwise a loop that fetches this file
// again and again would keep the files of other ports waiting.
func TestExempt_GoesFirstOnceAfterACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(Limiter)
		robots := WithCrawlDelay(t.Context(), Exempt)
		began := time.Now()
		get := func(ctx context.Context, u string) error {
			g, err := l.Acquire(ctx, mustURL(t, u))
			g.Done(Outcome{Status: 200})
			return err
		}
		get(t.Context(), "http://example.com/")
		page := make(chan error)
		go func() {
			expired := WithCheck(t.Context(), func(context.Context) error { return errors.New("expired") })
			page <- get(expired, "http://example.com/1")
		}()
		synctest.Wait()
		for port := 80; port < 83; port++ {
			go func() {
				get(robots, fmt.Sprintf("http://example.com:%d/robots.txt", port+1))
				if waited := time.Since(began); waited > 10*time.Second {
					t.Errorf("the robots.txt of port %d waited for %v", port+1, waited)
				}
			}()
		}
		<-page
		for range 100 {
			get(robots, "http://example.com/robots.txt")
		}
		time.Sleep(time.Hour)
	})
}

// With EndToStart, an interval begins when the lease of a request ends that was
// lost. A request that waits behind another can then no longer start before its
// deadline, and is refused as soon as the end of the lease is noticed.
func TestEndToStart_LeaseEndRefusesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{EndToStart: true, Delay: 5 * time.Second, Lease: 10 * time.Second}
		u := mustURL(t, "http://example.com/")
		zero := time.Now()
		l.Acquire(t.Context(), u) // no Done
		first := make(chan time.Duration)
		go func() {
			g, _ := l.Acquire(t.Context(), u)
			g.Done(Outcome{})
			first <- time.Since(zero)
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 18*time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, u)
		d, ok := errors.AsType[*DelayError](err)
		if !ok || d.Until.Sub(zero) != 20*time.Second || d.Reason != ReasonQueue || time.Since(zero) != 10*time.Second {
			t.Errorf("%v after %v, want a refusal when the lease ends", err, time.Since(zero))
		}
		if got := <-first; got != 15*time.Second {
			t.Errorf("the first request starts after %v, want 15s", got)
		}
	})
}

// With EndToStart, the interval begins when the lease of a request that is
// never done ends.
func TestEndToStart_IntervalAfterALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{EndToStart: true, Delay: 5 * time.Second, Lease: 10 * time.Second}
		u := mustURL(t, "http://example.com/")
		began := time.Now()
		for range 2 {
			if _, err := l.Acquire(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(began); got != 15*time.Second {
			t.Errorf("the second request started after %v, want 15s", got)
		}
	})
}

// A robots.txt that took 30 s leaves the pages 30 s. Only one page waits, so
// the next robots.txt starts soon, and must not be refused.
func TestExempt_NotRefusedAfterASlowFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxWait: 10 * time.Second}
		robots := WithCrawlDelay(t.Context(), Exempt)
		slow, err := l.Acquire(robots, mustURL(t, "http://example.com:81/robots.txt"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Second)
		get := func(ctx context.Context, u string) {
			g, err := l.Acquire(ctx, mustURL(t, u))
			if err != nil {
				t.Errorf("%s: %v", u, err)
			}
			g.Done(Outcome{Status: 200})
		}
		go get(t.Context(), "http://example.com/")
		synctest.Wait()
		go get(robots, "http://example.com:82/robots.txt")
		time.Sleep(5 * time.Second)
		slow.Done(Outcome{Status: 200})
		time.Sleep(time.Hour)
	})
}

// A host whose waiting requests are all refused by a change becomes idle, so
// that it can be evicted.
func TestRetime_RefusedHostIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Adaptive: 10}
		u := mustURL(t, "http://example.com/")
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
				defer cancel()
				if _, err := l.Acquire(ctx, u); err == nil {
					t.Error("a request that is too late was not refused")
				}
			}()
		}
		synctest.Wait()
		g.Done(Outcome{Status: 500, Latency: time.Minute})
		synctest.Wait()
		if h := l.hosts.Get("example.com"); h.IsBusy() || !l.hosts.MayBeEvicted(h) {
			t.Errorf("busy %t, may be evicted %t", h.IsBusy(), l.hosts.MayBeEvicted(h))
		}
	})
}

// A request whose token of the GlobalRate becomes available only after its
// deadline, or after MaxWait, fails at once, and gives the token back.
func TestChain_TokenAfterTheDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		limiter *Limiter
		timeout time.Duration
	}{
		"deadline": {&Limiter{Delay: -1, Concurrency: -1}, 10 * time.Second},
		"MaxWait":  {&Limiter{Delay: -1, Concurrency: -1, MaxWait: 10 * time.Second}, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := tt.limiter
				l.GlobalRate = rate.NewLimiter(rate.Every(time.Hour), 1)
				if _, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/")); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				_, err := l.Acquire(ctx, mustURL(t, "http://b.example/"))
				var delayed *DelayError
				if !errors.As(err, &delayed) || delayed.Reason != ReasonGlobalRate {
					t.Errorf("error %v, want a DelayError for the GlobalRate", err)
				}
				if waited := time.Since(began); waited != 0 {
					t.Errorf("it failed after %v, want at once", waited)
				}
				if tokens := l.GlobalRate.Tokens(); tokens < 0 {
					t.Errorf("%v tokens are left, want 0: the rejected request has not given its token back", tokens)
				}
			})
		})
	}
}
