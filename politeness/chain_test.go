package politeness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// A robots.txt request goes to the front of its lane because a waiting page
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
						t.Errorf("Acquire of %s: error %v after %v, want none", u, err, time.Since(began))
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
// starts first, but not those after it. Otherwise a loop that fetches this file
// again and again could keep the files of other ports waiting.
func TestExempt_StartsFirstOnceAfterACheck(t *testing.T) {
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
					t.Errorf("the robots.txt of port %d waited for %v, want at most 10s", port+1, waited)
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
// deadline, and is rejected as soon as the end of the lease is noticed.
func TestEndToStart_LeaseEndRejectsRequests(t *testing.T) {
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
			t.Errorf("error %v after %v, want a DelayError when the lease ends", err, time.Since(zero))
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
// the next robots.txt starts soon, and must not be rejected.
func TestExempt_NotRejectedAfterASlowFile(t *testing.T) {
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
				t.Errorf("Acquire of %s: error %v, want none", u, err)
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

// A host becomes idle if a change rejects all requests that wait for it.
// Otherwise it could never be evicted.
func TestRetime_HostOfRejectedRequestsIsIdle(t *testing.T) {
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
					t.Error("a request that would start too late was granted, want an error")
				}
			}()
		}
		synctest.Wait()
		g.Done(Outcome{Status: 500, Latency: time.Minute})
		synctest.Wait()
		if h := l.hosts.Get("example.com"); h.IsBusy() || !l.hosts.MayBeEvicted(h) {
			t.Errorf("after all requests have ended, the host is busy: %t, and may be evicted: %t; want false, true", h.IsBusy(), l.hosts.MayBeEvicted(h))
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
					t.Errorf("Acquire: error %v, want a DelayError for the GlobalRate", err)
				}
				if waited := time.Since(began); waited != 0 {
					t.Errorf("Acquire fails after %v, want at once", waited)
				}
				if tokens := l.GlobalRate.Tokens(); tokens < 0 {
					t.Errorf("%v tokens are left, want 0: the rejected request has not given its token back", tokens)
				}
			})
		})
	}
}

// A request waits at a later stage until MaxWait is over. Until is when it
// could start at that stage, as after a wait that a deadline ends.
func TestChain_UntilIsThatOfTheLaterStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }
		l := &Limiter{MaxWait: 25 * time.Second,
			Within: &Limiter{Delay: 10 * time.Second, Key: machine}}
		if _, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/")); err != nil {
			t.Fatal(err)
		}
		_, err := l.Acquire(t.Context(), mustURL(t, "http://b.example/")) // waits for the slot of the machine
		delayed, ok := errors.AsType[*DelayError](err)
		if !ok {
			t.Fatalf("error %v, want a DelayError", err)
		}
		if got, want := time.Until(delayed.Until), 10*time.Second; got != want {
			t.Errorf("Until is %v from now, want %v, the Delay of the machine", got, want)
		}
	})
}

// Grants whose Done is never called do not stay at the stage of a GlobalRate.
func TestGlobalRate_GrantsWithoutDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Lease: time.Minute, GlobalRate: rate.NewLimiter(1, 1)}
		for range 100 {
			if _, err := l.Acquire(t.Context(), mustURL(t, "http://example.com/")); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.globalStage.Stats().InFlight; got != 1 {
			t.Errorf("%d requests are in flight at the stage of the GlobalRate, want 1", got)
		}
	})
}

// Each host has its delay, and the machine that serves all of these hosts has a
// delay of its own. All of these delays are kept.
func TestWithinComposesTwoLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }
		l := &Limiter{Delay: time.Second, Concurrency: 4,
			Within: &Limiter{Delay: 300 * time.Millisecond, Concurrency: 4, Key: machine}}
		zero := time.Now()
		type start struct {
			host int
			at   time.Duration
		}
		var mu sync.Mutex
		var starts []start
		var wg sync.WaitGroup
		for h := range 3 {
			u := mustURL(t, fmt.Sprintf("http://host%d.example/", h))
			for range 10 {
				wg.Go(func() {
					g, err := l.Acquire(t.Context(), u)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					starts = append(starts, start{h, time.Since(zero)})
					mu.Unlock()
					time.Sleep(50 * time.Millisecond)
					g.Done(Outcome{Status: 200})
				})
			}
		}
		wg.Wait()
		slices.SortFunc(starts, func(a, b start) int { return cmp.Compare(a.at, b.at) })
		last := map[int]time.Duration{0: -time.Hour, 1: -time.Hour, 2: -time.Hour}
		for i, s := range starts {
			if i > 0 && s.at-starts[i-1].at < 300*time.Millisecond {
				t.Errorf("the next request to the machine starts after %v, want 300ms at least", s.at-starts[i-1].at)
			}
			if s.at-last[s.host] < time.Second {
				t.Errorf("the next request to host %d starts after %v, want 1s at least", s.host, s.at-last[s.host])
			}
			last[s.host] = s.at
		}
		if total := starts[len(starts)-1].at; total > 9600*time.Millisecond {
			t.Errorf("the last request starts after %v, want at most 9.6s, the ideal", total)
		}
		if a, b := l.Stats(), l.Within.Stats(); len(starts) != 30 || a.InFlight+b.InFlight+a.Waiting+b.Waiting != 0 {
			t.Errorf("%d starts, and Stats = %+v, of Within %+v; want 30 starts, none waiting or in flight", len(starts), a, b)
		}
	})
}

// A request to a paused host does not delay requests to other hosts of the same
// machine.
func TestWithinABackedOffHostDoesNotHoldUpTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }
		l := &Limiter{Delay: -1, Concurrency: 2, Within: &Limiter{Delay: 10 * time.Second, Concurrency: 9, Key: machine}}
		zero := time.Now()
		bad, good := mustURL(t, "http://bad.example/"), mustURL(t, "http://good.example/")
		g, _ := l.Acquire(t.Context(), bad)
		var wg sync.WaitGroup
		wg.Go(func() {
			g, err := l.Acquire(t.Context(), bad)
			if err != nil || time.Since(zero) != time.Hour {
				t.Errorf("Acquire of bad.example: error %v after %v, want none after 1h", err, time.Since(zero))
			}
			g.Done(Outcome{})
		})
		synctest.Wait()
		wg.Go(func() {
			g, err := l.Acquire(t.Context(), good)
			if err != nil || time.Since(zero) != 10*time.Second {
				t.Errorf("Acquire of good.example: error %v after %v, want none after 10s", err, time.Since(zero))
			}
			g.Done(Outcome{})
		})
		synctest.Wait()
		g.Done(Outcome{Status: 503, Header: retryIn("3600")})
		wg.Wait()
	})
}

func TestWithinCancellationAndDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Within: &Limiter{Delay: time.Hour, Key: DomainKey}}
		zero := time.Now()
		g, err := l.Acquire(t.Context(), mustURL(t, "http://a.example.com/"))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = l.Acquire(ctx, mustURL(t, "http://b.example.com/"))
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Host != "b.example.com" || !d.Until.Equal(zero.Add(time.Hour)) || time.Since(zero) != 0 {
			t.Errorf("error %v after %v, want a DelayError at once", err, time.Since(zero))
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if _, err = l.Acquire(ctx, mustURL(t, "http://b.example.com/")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if g, err = l.Acquire(t.Context(), mustURL(t, "http://c.example.com/")); err != nil || time.Since(zero) != time.Hour {
			t.Errorf("Acquire of c.example.com: error %v after %v, want none after 1h", err, time.Since(zero))
		}
		g.Done(Outcome{})
		if a, b := l.Stats(), l.Within.Stats(); a.Waiting+b.Waiting+a.InFlight+b.InFlight != 0 {
			t.Errorf("Stats() of the two Limiters = %+v, %+v; want none waiting or in flight", a, b)
		}
	})
}

// A Limiter with one key for all hosts, as Within, limits the requests in
// flight to all hosts together.
func TestWithin_AllHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := func(context.Context, *url.URL) (string, error) { return "all", nil }
		l := &Limiter{Delay: -1, Within: &Limiter{Delay: -1, Concurrency: 3, Key: all}}
		zero := time.Now()
		var wg sync.WaitGroup
		for h := range 30 {
			wg.Go(func() {
				g, err := l.Acquire(t.Context(), mustURL(t, fmt.Sprintf("http://host%d.example/", h)))
				if err != nil {
					t.Error(err)
					return
				}
				if n := l.Stats().InFlight; n > 3 {
					t.Errorf("%d requests are in flight, want 3 at most", n)
				}
				time.Sleep(time.Second)
				g.Done(Outcome{})
			})
		}
		wg.Wait()
		if took := time.Since(zero); took != 10*time.Second {
			t.Errorf("the 30 requests took %v, want 10s", took)
		}
	})
}

// The Observer of the first Limiter serves the chain. That of a Within receives
// nothing: without the grant, an end would make a count of requests negative.
func TestWithin_ObserverReceivesNothing(t *testing.T) {
	var events []string
	note := func(name string) func(context.Context, Event) {
		return func(context.Context, Event) { events = append(events, name) }
	}
	inner := &Limiter{Delay: -1, Observer: &Observer{Granted: note("granted"), Answered: note("answered"), Ended: note("ended")}}
	l := &Limiter{Delay: -1, Within: inner}
	g, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
	if err != nil {
		t.Fatal(err)
	}
	g.Done(Outcome{Status: 200})
	if len(events) > 0 {
		t.Errorf("the Observer of Within received %q, want nothing", events)
	}
	if n := inner.Stats().InFlight; n != 0 {
		t.Errorf("%d requests of Within are in flight after Done, want 0", n)
	}
}

// A request waits for its machine. Then its host is paused for longer than the
// request can wait, so the Limiter rejects the request and removes it from both
// queues.
func TestWithinARefusedWaiterLeavesBothQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }
		l := &Limiter{Delay: -1, Concurrency: 2, Within: &Limiter{Delay: 10 * time.Second, Concurrency: 9, Key: machine}}
		zero := time.Now()
		bad, good := mustURL(t, "http://bad.example/"), mustURL(t, "http://good.example/")
		g, _ := l.Acquire(t.Context(), bad)
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := l.Acquire(ctx, bad); !errors.Is(err, context.DeadlineExceeded) || time.Since(zero) != 0 {
				t.Errorf("Acquire of bad.example: error %v after %v, want DeadlineExceeded at once", err, time.Since(zero))
			}
		})
		synctest.Wait()
		g.Done(Outcome{Status: 503, Header: retryIn("3600")})
		wg.Wait()
		if g, err := l.Acquire(t.Context(), good); err != nil || time.Since(zero) != 10*time.Second {
			t.Errorf("Acquire of good.example: error %v after %v, want none after 10s", err, time.Since(zero))
		} else {
			g.Done(Outcome{})
		}
		if s := l.Within.Stats(); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("Stats() = %+v, want none waiting or in flight", s)
		}
	})
}

// The Limiter knows from the beginning how long a request has to wait for the
// machine, even while the host itself is not due. Each Limiter counts time from
// its first use. The test uses the Limiter of the machine earlier than the
// Limiter of the host, so that the two count differently.
func TestWithinTheLongerWaitIsKnownFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := &Limiter{Delay: time.Hour, Key: func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }}
		g, _ := machine.Acquire(t.Context(), mustURL(t, "http://first.example/"))
		g.Done(Outcome{})
		time.Sleep(10 * time.Minute)
		l := &Limiter{Within: machine, Delay: time.Minute}
		u := mustURL(t, "http://example.com/")
		time.Sleep(50 * time.Minute)
		zero := time.Now()
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err = l.Acquire(ctx, u)
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Until.Sub(zero) != time.Hour || time.Since(zero) != 0 {
			t.Errorf("error %v after %v, want a DelayError for the hour at once", err, time.Since(zero))
		}
		var untils []time.Duration
		var reasons []string
		ctx = WithTrace(t.Context(), &Trace{Queued: func(until time.Time, why Reason) {
			untils, reasons = append(untils, until.Sub(zero)), append(reasons, string(why))
		}})
		g, _ = l.Acquire(ctx, u)
		g.Done(Outcome{})
		for _, until := range untils {
			if until != time.Hour {
				t.Errorf("Queued received the estimates %v, want only 1h", untils)
			}
		}
		if fmt.Sprint(reasons) != "[delay within]" {
			t.Errorf("reasons %q, want the interval of the host and then that of Within", reasons)
		}
	})
}

func TestGlobalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{GlobalRate: rate.NewLimiter(10, 5)}
		zero := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for h := range 105 {
			ctx := ctx
			if h%2 == 0 {
				ctx = t.Context()
			}
			wg.Go(func() {
				g, err := l.Acquire(ctx, mustURL(t, fmt.Sprintf("http://host%d.example/", h)))
				if err == nil {
					g.Done(Outcome{})
				} else if ctx.Err() == nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(950 * time.Millisecond)
		cancel() // the requests with an odd number give up, and the others move up
		wg.Wait()
		// Before the call of cancel, 14 requests start: five at once, and then
		// one every 100 ms. Of the requests with an even number, 46 are still
		// waiting then. They start after the call, one every 100 ms. The last
		// one starts at 5.5 s.
		if took := time.Since(zero); took < 5400*time.Millisecond || took > 5600*time.Millisecond {
			t.Errorf("the last request starts after %v, want 5.4s to 5.6s", took)
		}
		if n := l.GlobalRate.Tokens(); n > 0.01 {
			t.Errorf("%v tokens of the GlobalRate are left after the last start, want at most 0.01", n)
		}
	})
}

// If a request reserves a token of GlobalRate and is then canceled, the next
// request gets the token.
func TestGlobalRateCancelledReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{GlobalRate: rate.NewLimiter(1, 1)}
		zero := time.Now()
		l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		l.Acquire(ctx, mustURL(t, "http://b.example/"))
		if _, err := l.Acquire(t.Context(), mustURL(t, "http://c.example/")); err != nil || time.Since(zero) != time.Second {
			t.Errorf("error %v after %v, want 1s", err, time.Since(zero))
		}
	})
}

// A request waits for its machine, which serves one request in 10 s. Requests
// to hosts of other machines get the tokens of GlobalRate meanwhile.
func TestGlobalRate_SlowMachineDelaysNoOtherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: -1, GlobalRate: rate.NewLimiter(100, 1), Within: &Limiter{Delay: 10 * time.Second, Key: DomainKey}}
		began := time.Now()
		startsAfter := func(u string, want time.Duration) {
			g, err := l.Acquire(t.Context(), mustURL(t, u))
			if err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited != want {
				t.Errorf("%s started after %v, want %v", u, waited, want)
			}
			g.Done(Outcome{})
		}
		startsAfter("http://a.slow.example/", 0)
		var wg sync.WaitGroup
		wg.Go(func() { startsAfter("http://b.slow.example/", 10*time.Second) })
		synctest.Wait()
		for i := range 100 {
			startsAfter(fmt.Sprintf("http://other%d.example/", i), time.Duration(i+1)*10*time.Millisecond)
		}
		time.Sleep(time.Second)
		if tokens := l.GlobalRate.Tokens(); tokens != 1 {
			t.Errorf("%v tokens of the GlobalRate are left while a request waits for its machine, want 1", tokens)
		}
		wg.Wait()
		if a, b := l.Stats(), l.Within.Stats(); a.Waiting+a.InFlight+b.Waiting+b.InFlight != 0 {
			t.Errorf("Stats() of the two Limiters = %+v, %+v; want none waiting or in flight", a, b)
		}
	})
}

// A request waits for a token. It holds no slot of its host and its machine
// meanwhile. Then its host is paused, so the request leaves the queue of the
// machine and gives the token back, and another host of the machine gets both.
func TestGlobalRate_WaitTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: -1, Concurrency: 2, GlobalRate: rate.NewLimiter(0.1, 1), Within: &Limiter{Delay: -1, Concurrency: 2, Key: DomainKey}}
		began := time.Now()
		paused := mustURL(t, "http://a.example.com/")
		g, err := l.Acquire(t.Context(), paused)
		if err != nil {
			t.Fatal(err)
		}
		startsAfter := func(u *url.URL, want time.Duration) {
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited != want {
				t.Errorf("%s started after %v, want %v", u, waited, want)
			}
			g.Done(Outcome{})
		}
		var wg sync.WaitGroup
		wg.Go(func() { startsAfter(paused, time.Hour) })
		synctest.Wait()
		wg.Go(func() { startsAfter(mustURL(t, "http://b.example.com/"), 10*time.Second) })
		synctest.Wait()
		if a, b := l.Stats(), l.Within.Stats(); a.InFlight != 1 || b.InFlight != 1 {
			t.Errorf("%d and %d slots are taken, want only those of the first request", a.InFlight, b.InFlight)
		}
		g.Done(Outcome{Status: 503, Header: retryIn("3600")})
		wg.Wait()
		if tokens := l.GlobalRate.Tokens(); tokens != 0 {
			t.Errorf("%v tokens of the GlobalRate are left, want 0", tokens)
		}
	})
}

// With Within too, a request whose token becomes available only after its
// deadline fails at once, gives the token back, and leaves all queues.
func TestGlobalRate_TokenAfterTheDeadlineWithWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: -1, GlobalRate: rate.NewLimiter(rate.Every(time.Hour), 1), Within: &Limiter{Delay: -1, Key: DomainKey}}
		began := time.Now()
		g, err := l.Acquire(t.Context(), mustURL(t, "http://a.example.com/"))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = l.Acquire(ctx, mustURL(t, "http://b.example.com/"))
		delayed, ok := errors.AsType[*DelayError](err)
		if !ok || delayed.Reason != ReasonGlobalRate || !delayed.Until.Equal(began.Add(time.Hour)) || time.Since(began) != 0 {
			t.Errorf("error %v after %v, want a DelayError for the GlobalRate at once", err, time.Since(began))
		}
		if tokens := l.GlobalRate.Tokens(); tokens != 0 {
			t.Errorf("%v tokens are left, want 0: the rejected request has not given its token back", tokens)
		}
		if a, b := l.Stats(), l.Within.Stats(); a.Waiting+b.Waiting+a.InFlight+b.InFlight != 0 {
			t.Errorf("Stats() of the two Limiters = %+v, %+v; want none waiting or in flight", a, b)
		}
	})
}

// Two Limiters share a Within with a GlobalRate. A request of the first waits
// for its machine, and the second gets the tokens.
func TestGlobalRate_OfASharedWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &Limiter{Delay: 10 * time.Second, Key: DomainKey, GlobalRate: rate.NewLimiter(100, 1)}
		first := &Limiter{Delay: -1, GlobalRate: rate.NewLimiter(100, 1), Within: shared}
		second := &Limiter{Delay: -1, Within: shared}
		began := time.Now()
		startsAfter := func(l *Limiter, u string, want time.Duration) {
			g, err := l.Acquire(t.Context(), mustURL(t, u))
			if err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited != want {
				t.Errorf("%s started after %v, want %v", u, waited, want)
			}
			g.Done(Outcome{})
		}
		startsAfter(first, "http://a.slow.example/", 0)
		var wg sync.WaitGroup
		wg.Go(func() { startsAfter(first, "http://b.slow.example/", 10*time.Second) })
		synctest.Wait()
		for i := range 10 {
			startsAfter(second, fmt.Sprintf("http://other%d.example/", i), time.Duration(i+1)*10*time.Millisecond)
		}
		wg.Wait()
	})
}
