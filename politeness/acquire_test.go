package politeness

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://example.com/")
		l := &Limiter{MaxWait: 3 * time.Second}
		zero := time.Now()
		var mu sync.Mutex
		var granted, rejected int
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				g, err := l.Acquire(t.Context(), u)
				mu.Lock()
				defer mu.Unlock()
				if _, ok := errors.AsType[*DelayError](err); ok {
					rejected++
					if time.Since(zero) != 0 {
						t.Errorf("Acquire returns a DelayError after %v, want at once", time.Since(zero))
					}
					return
				}
				granted++
				g.Done(Outcome{})
			})
		}
		wg.Wait()
		if granted != 4 || rejected != 6 { // the four start at 0, 1, 2 and 3 s
			t.Errorf("%d granted and %d rejected, want 4 and 6", granted, rejected)
		}

		// A request that lacks only a slot waits up to MaxWait, too.
		time.Sleep(time.Second)
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		zero = time.Now()
		_, err = l.Acquire(t.Context(), u)
		if d, ok := errors.AsType[*DelayError](err); !ok || !d.Until.After(time.Now()) || time.Since(zero) != 3*time.Second+1 {
			t.Errorf("Acquire: error %v after %v, want a DelayError whose Until is in the future after %v", err, time.Since(zero), 3*time.Second+1)
		}

		never := &Limiter{MaxWait: -1, Concurrency: 2}
		if _, err := never.Acquire(t.Context(), u); err != nil {
			t.Errorf("with MaxWait -1, a request that may start at once: %v", err)
		}
		if _, err := never.Acquire(t.Context(), u); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with MaxWait -1, a request that must wait: error %v, want DeadlineExceeded", err)
		}
		g.Done(Outcome{})
	})
}

func TestContextDeadlineWhileASlotIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		l.Acquire(t.Context(), u)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		zero := time.Now()
		_, err := l.Acquire(ctx, u)
		if d, ok := errors.AsType[*DelayError](err); !ok || !d.Until.After(time.Now()) || time.Since(zero) != 5*time.Second {
			t.Errorf("error %v after %v, want a DelayError at the deadline", err, time.Since(zero))
		}
	})
}

// The deadline of a context is over before the call. The DelayError has the
// time at which the host is due, and what makes the request wait until then.
func TestAcquire_DeadlineIsOver(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limiter *Limiter
		outcome *Outcome // of an earlier request to the host; nil means none
		until   time.Duration
		why     Reason
	}{
		{"an unknown host", &Limiter{}, nil, 0, ""},
		{"the interval", &Limiter{}, &Outcome{Status: 200}, time.Second, ReasonDelay},
		{"a pause", &Limiter{}, &Outcome{Status: 503, Header: retryIn("600")}, 10 * time.Minute, ReasonBackOff},
		{"the Budget", &Limiter{Budget: Budget{Requests: 1}}, &Outcome{Status: 200}, 24 * time.Hour, ReasonBudget},
		{"Within", &Limiter{Delay: -1, Within: &Limiter{Delay: time.Minute}}, &Outcome{Status: 200}, time.Minute, ReasonWithin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := mustURL(t, "http://example.com/")
				if tt.outcome != nil {
					g, err := tt.limiter.Acquire(t.Context(), u)
					if err != nil {
						t.Fatal(err)
					}
					g.Done(*tt.outcome)
				}
				ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
				defer cancel()
				_, err := tt.limiter.Acquire(ctx, u)
				d, ok := errors.AsType[*DelayError](err)
				if !ok || time.Until(d.Until) != tt.until || d.Reason != tt.why {
					t.Errorf("Acquire: error %v (%+v), want a DelayError for %v with Reason %q", err, d, tt.until, tt.why)
				}
				if tt.outcome == nil && tt.limiter.Stats().Hosts != 0 {
					t.Error("the Limiter has made a host for the request, want none")
				}
			})
		})
	}
}

// A request waits 9 s for the interval and then 4 s for a slot, until its
// context's deadline. It is rejected because of the slot.
func TestAcquire_ReasonAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: 10 * time.Second}
		u := mustURL(t, "http://example.com/")
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 13*time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, u)
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Reason != ReasonSlot {
			t.Errorf("Acquire: error %v, want a DelayError with Reason %q", err, ReasonSlot)
		}
		g.Done(Outcome{})
	})
}

// Two requests to a host have to wait a minute for Within, but only seconds for
// each other. The second is rejected because of Within.
func TestAcquire_RejectedBecauseOfWithinBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Within: &Limiter{Delay: time.Minute}}
		u := mustURL(t, "http://example.com/")
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{Status: 200})

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go l.Acquire(ctx, u)
		synctest.Wait()
		soon, cancelSoon := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancelSoon()
		_, err = l.Acquire(soon, u)
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Reason != ReasonWithin {
			t.Errorf("Acquire: error %v, want a DelayError with Reason %q", err, ReasonWithin)
		}
	})
}

// With EndToStart, a slow request may end so late that a waiting request would
// miss its deadline. The waiting request is then rejected at once.
func TestAcquire_DeadlineAfterASlowRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: 10 * time.Second, EndToStart: true}
		u := mustURL(t, "http://example.com/")
		g, _ := l.Acquire(t.Context(), u)
		zero := time.Now()
		time.AfterFunc(5*time.Second, func() { g.Done(Outcome{Status: 200}) })
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, u)
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Until.Sub(zero) != 15*time.Second || time.Since(zero) != 5*time.Second {
			t.Errorf("Acquire: error %v after %v, want a DelayError after 5s whose Until is 15s after the call", err, time.Since(zero))
		}
	})
}

// Some requests of a queue are canceled. The others move up.
func TestAcquire_CanceledRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		zero := time.Now()
		var wg sync.WaitGroup
		started := make(map[int]time.Duration)
		var mu sync.Mutex
		cancels := make([]context.CancelFunc, 10)
		for i := range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			cancels[i] = cancel
			wg.Go(func() {
				g, err := l.Acquire(ctx, u)
				if errors.Is(err, context.Canceled) {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				started[i] = time.Since(zero)
				mu.Unlock()
				g.Done(Outcome{})
			})
			synctest.Wait() // so that the requests queue in this order
		}
		for _, i := range []int{1, 3, 4, 8, 9} { // the first waiting request, two in the middle, the last two
			cancels[i]()
		}
		wg.Wait()
		for place, i := range []int{0, 2, 5, 6, 7} {
			if got, want := started[i], time.Duration(place)*time.Second; got != want {
				t.Errorf("request %d started after %v, want %v", i, got, want)
			}
		}
	})
}

func TestAcquire_CanceledWithCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		l.Acquire(t.Context(), u)
		cause := errors.New("enough pages")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := l.Acquire(ctx, u); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want one that wraps Canceled and the cause %v", err, cause)
		}
	})
}

func TestNextTellsAScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n tally
		l := &Limiter{Delay: 10 * time.Second, Observer: n.observer()}
		u := mustURL(t, "http://example.com/")
		next := func(want time.Duration) {
			t.Helper()
			if got := time.Until(l.Next(u)); got != want {
				t.Errorf("Next is in %v, want %v", got, want)
			}
		}
		next(0)
		next(0) // Next takes no slot
		g, _ := l.Acquire(t.Context(), u)
		next(10 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { l.Acquire(ctx, u) })
		}
		synctest.Wait()
		next(40 * time.Second) // three requests are waiting
		cancel()
		wg.Wait()
		next(10 * time.Second)
		g.Done(Outcome{Status: 429, Header: retryIn("60")})
		next(time.Minute)
		time.Sleep(2 * time.Minute)
		next(0)
		if n.granted.Load() != 1 || n.canceled.Load() != 3 {
			t.Errorf("%v, want 1 granted and 3 canceled", &n)
		}
		if got := l.Next(&url.URL{Path: "/"}); !got.Equal(time.Now()) {
			t.Errorf("Next of a URL without a host = %v, want now", got)
		}
	})
}
