package politeness_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/limittest"
)

var shop = &url.URL{Scheme: "http", Host: "shop.example"}

// backend is a Backend that a test may break.
type backend struct {
	limittest.Memory
	take func(ctx context.Context) error
}

func (b *backend) Take(ctx context.Context, host string, terms politeness.Terms) (politeness.Slot, error) {
	if b.take != nil {
		if err := b.take(ctx); err != nil {
			return nil, err
		}
	}
	return b.Memory.Take(ctx, host, terms)
}

func start(t *testing.T, l *politeness.Limiter) *politeness.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var ok = politeness.Outcome{Status: http.StatusOK}

// What the backend cannot answer fails that request alone.
func TestSharedTakeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		b := &backend{take: func(context.Context) error { return broken }}
		var granted, cancelled int
		l := &politeness.Limiter{Shared: b, Observer: &politeness.Observer{
			Granted:   func(context.Context, politeness.Event) { granted++ },
			Cancelled: func(context.Context, politeness.Event) { cancelled++ },
		}}
		if _, err := l.Acquire(t.Context(), shop); !errors.Is(err, broken) {
			t.Errorf("%v, want what the backend says", err)
		}
		b.take = nil
		start(t, l).Done(ok)
		if s := l.Stats(); s.Waiting != 0 || s.InFlight != 0 || granted != 1 || cancelled != 1 {
			t.Errorf("%+v, granted %d, cancelled %d", s, granted, cancelled)
		}
	})
}

// A deadline ends a Take that is under way, as it does any wait.
func TestSharedDeadlineDuringTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{take: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		var refused int
		l := &politeness.Limiter{Shared: b, Observer: &politeness.Observer{
			Refused: func(context.Context, politeness.Event) { refused++ },
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, shop); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if s := l.Stats(); s.Waiting != 0 || refused != 1 {
			t.Errorf("%+v, refused %d", s, refused)
		}
	})
}

// Others have the host for the next hour: whoever waits behind the first in
// line is refused as soon as that is known, and takes no slot.
func TestSharedRefusesThoseWhoCannotMakeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := new(limittest.Memory)
		other := &politeness.Limiter{Delay: time.Hour, Shared: fleet}
		start(t, other).Done(ok)

		l := &politeness.Limiter{Delay: time.Hour, Shared: fleet}
		go func() {
			g, err := l.Acquire(t.Context(), shop)
			if err != nil {
				t.Error(err)
			}
			g.Done(ok)
		}()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		_, err := l.Acquire(ctx, shop)
		delay, is := errors.AsType[*politeness.DelayError](err)
		if !is || time.Since(began) != 0 || delay.Until.Sub(began) != 2*time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}

// The caller's patience goes along with the question.
func TestSharedDeadlineIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := new(limittest.Memory)
		start(t, &politeness.Limiter{Delay: time.Hour, Shared: fleet}).Done(ok)
		began := time.Now()
		l := &politeness.Limiter{Delay: time.Hour, Shared: fleet, MaxWait: time.Minute}
		_, err := l.Acquire(t.Context(), shop)
		if delay, is := errors.AsType[*politeness.DelayError](err); !is || delay.Until.Sub(began) != time.Hour || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		// A Crawl-delay beyond MaxCrawlDelay is not waited for, however patient the caller.
		l = &politeness.Limiter{Shared: fleet}
		ctx := politeness.WithCrawlDelay(t.Context(), 2*time.Hour)
		if _, err := l.Acquire(ctx, shop); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A request that gives up while it has a slot lets the others have it.
func TestSharedCancelledSlotIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := new(limittest.Memory)
		a, b := &politeness.Limiter{Shared: fleet}, &politeness.Limiter{Shared: fleet}
		began := time.Now()
		start(t, a).Done(ok)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second / 2)
			cancel()
		}()
		if _, err := b.Acquire(ctx, shop); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		start(t, a).Done(ok)
		if got := time.Since(began); got != time.Second {
			t.Errorf("the next starts after %v", got)
		}
	})
}

// While GlobalConcurrency held it up, its slot has passed: it takes another,
// and only when its turn has come.
func TestSharedSlotThatPassedWhileOthersHeldItUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := 0
		b := &backend{take: func(context.Context) error { takes++; return nil }}
		l := &politeness.Limiter{Shared: b, GlobalConcurrency: 1}
		began := time.Now()
		first, err := l.Acquire(t.Context(), &url.URL{Host: "slow.example"})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { first.Done(ok) })
		start(t, l).Done(ok)
		if got := time.Since(began); got != time.Minute || takes != 3 {
			t.Errorf("started after %v, by %d slots", got, takes)
		}
		start(t, l).Done(ok)
		if got := time.Since(began); got != time.Minute+time.Second {
			t.Errorf("the next after %v", got)
		}
	})
}

// While GlobalConcurrency held the fetch of robots.txt up, a page that came
// before it has become due. The fetch lets the page go first, and does not keep
// the backend's slot from it.
func TestSharedSlotOfOneThatLetsAnotherGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{Delay: -1, GlobalConcurrency: 1, Lease: -1, Shared: new(limittest.Memory)}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		slow := politeness.WithCrawlDelay(ctx, 2*time.Second)
		first, err := l.Acquire(slow, shop)
		if err != nil {
			t.Fatal(err)
		}
		first.Done(ok)
		elsewhere, err := l.Acquire(ctx, &url.URL{Host: "elsewhere.example"})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Second, func() { elsewhere.Done(ok) })

		var order []string
		ask := func(ctx context.Context, name string) {
			go func() {
				g, err := l.Acquire(ctx, shop)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				order = append(order, fmt.Sprint(name, " after ", time.Since(began).Round(time.Second/10)))
				time.Sleep(time.Second)
				g.Done(ok)
			}()
			synctest.Wait()
		}
		ask(slow, "page")                                                    // due after 2 s
		ask(politeness.WithCrawlDelay(ctx, politeness.Exempt), "robots.txt") // due at once
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if want := []string{"page after 5s", "robots.txt after 6s"}; !slices.Equal(order, want) {
			t.Errorf("%q, want %q", order, want)
		}
	})
}

// A slot that GlobalConcurrency lets nobody use is not kept from the fleet.
func TestSharedSlotThatNobodyMayUseIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := new(limittest.Memory)
		full := &politeness.Limiter{GlobalConcurrency: 1, Shared: fleet}
		first, err := full.Acquire(t.Context(), &url.URL{Host: "slow.example"})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { first.Done(ok) })
		began := time.Now()
		go func() {
			g, err := full.Acquire(t.Context(), shop)
			if got := time.Since(began); err != nil || got != time.Minute {
				t.Errorf("the one that is held up starts after %v, %v", got, err)
			}
			g.Done(ok)
		}()
		synctest.Wait()
		start(t, &politeness.Limiter{Shared: fleet}).Done(ok)
		if got := time.Since(began); got > 2*time.Second {
			t.Errorf("another member starts after %v", got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
	})
}

func TestSharedWithinIsAnError(t *testing.T) {
	l := &politeness.Limiter{Within: &politeness.Limiter{Shared: new(limittest.Memory)}}
	if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "Shared") {
		t.Error(err)
	}
}

// While the outer limiter has yet to ask its Backend again, the limiters within are only looked at: none of them starts
// the request alone.
func TestShared_NoneWithinStartsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		within := &politeness.Limiter{Delay: time.Second, Concurrency: 2, GlobalConcurrency: 2}
		l := &politeness.Limiter{Delay: -1, Concurrency: 2, Shared: new(limittest.Memory), Within: within}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		for i := range 3 {
			g, err := l.Acquire(ctx, &url.URL{Scheme: "http", Host: "example.com"})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), time.Duration(i)*time.Second; got != want {
				t.Errorf("request %d after %v, want %v", i, got, want)
			}
			g.Done(politeness.Outcome{Status: 200})
		}
		if s := within.Stats(); s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}
