// Package limittest checks that a politeness.Backend does what the Limiter
// relies on. A package with a Backend of its own runs it in a test:
//
//	func TestBackend(t *testing.T) {
//		limittest.Run(t, func(t *testing.T) func() politeness.Backend {
//			server := start(t)
//			return func() politeness.Backend { return New(server) }
//		})
//	}
//
// [Memory] is a Backend for the tests of those who use one.
package limittest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// Run tests the Backends that fleet makes. Each call of fleet begins an empty
// one, cleaned up by t.Cleanup, and each call of what it returns adds a member.
// The tests take a few seconds, because paces must pass. They measure real
// time: that nothing comes too early holds on a busy machine too.
func Run(t *testing.T, fleet func(t *testing.T) (member func() politeness.Backend)) {
	ctx := context.Background()

	t.Run("slots of all members are a pace apart", func(t *testing.T) {
		member := fleet(t)
		terms := terms(pace)
		var mu sync.Mutex
		type taken struct{ at, by time.Time } // when the slot begins, and when it was had
		var slots []taken
		var wg sync.WaitGroup
		for range 3 {
			b := member()
			for i := range 20 { // the more answers, the better it knows the clock of all
				take(t, b, fmt.Sprintf("other%d.example", i), terms)
			}
			for range 2 {
				wg.Go(func() {
					s := take(t, b, "example.com", terms)
					by := time.Now()
					mu.Lock()
					defer mu.Unlock()
					slots = append(slots, taken{s.At(), by})
				})
			}
		}
		wg.Wait()
		slices.SortFunc(slots, func(a, b taken) int { return a.at.Compare(b.at) })
		for i := 1; i < len(slots); i++ {
			before, s := slots[i-1], slots[i]
			least := pace - slack
			if before.at.Sub(before.by) < early {
				least -= early // it had hardly to be waited for
			}
			if gap := s.at.Sub(before.at); gap < least {
				t.Errorf("slot %d is %v after the one before, want %v", i, gap, pace)
			}
			// On a busy machine a slot may have been asked for after its turn.
			if due := latest(before.at.Add(pace), s.by); s.at.Sub(due) > pace/2 {
				t.Errorf("slot %d is %v after the one before, and %v after it was asked for, want %v", i, s.at.Sub(before.at), s.at.Sub(s.by), pace)
			}
		}
	})

	t.Run("hosts do not wait for each other", func(t *testing.T) {
		b := fleet(t)()
		for i := range 20 {
			if wait := wait(take(t, b, fmt.Sprintf("host%d.example", i), terms(time.Hour))); wait > soon {
				t.Errorf("the first slot of a host begins in %v", wait)
			}
		}
	})

	t.Run("a wait that is too long takes nothing", func(t *testing.T) {
		b := fleet(t)()
		terms := terms(minute)
		take(t, b, "example.com", terms)
		terms.MaxWait = minute / 2
		for range 3 {
			s, err := b.Take(ctx, "example.com", terms)
			delay, ok := errors.AsType[*politeness.DelayError](err)
			if s != nil || !ok || delay.Host != "example.com" {
				t.Fatalf("%v, %v, want a *DelayError of example.com", s, err)
			}
			if wait := time.Until(delay.Until); !near(wait, minute) {
				t.Errorf("to come again in %v, want %v", wait, minute)
			}
		}
		terms.MaxWait = 2 * minute
		if wait := wait(take(t, b, "example.com", terms)); !near(wait, minute) {
			t.Errorf("after the refusals the slot begins in %v, want %v", wait, minute)
		}
	})

	t.Run("a slot that was given back is the next one's", func(t *testing.T) {
		member := fleet(t)
		a, b := member(), member()
		take(t, a, "example.com", terms(minute))
		second := take(t, a, "example.com", terms(minute))
		second.Free()
		second.Free()
		var third politeness.Slot
		eventually(t, "it is still taken", func() bool { // news may take its time
			third = take(t, b, "example.com", terms(minute))
			if near(wait(third), minute) {
				return true
			}
			third.Free()
			return false
		})
		fourth := take(t, a, "example.com", terms(minute))
		third.Free() // is no longer the last
		time.Sleep(soon / 2)
		if got := wait(take(t, b, "example.com", terms(minute))); !near(got, 3*minute) {
			t.Errorf("the slot after %v begins in %v", wait(fourth), got)
		}
	})

	t.Run("a Crawl-delay told to one holds for all", func(t *testing.T) {
		member := fleet(t)
		a, b := member(), member()
		slow := terms(pace)
		slow.CrawlDelay, slow.Told = minute, true
		take(t, a, "example.com", slow)
		second := take(t, b, "example.com", terms(pace))
		if got := wait(second); !near(got, minute) {
			t.Errorf("one who was told nothing: in %v, want %v", got, minute)
		}
		fast := terms(pace)
		fast.Told = true
		if got := take(t, b, "example.com", fast).At().Sub(second.At()); got < pace-slack || got > pace+soon {
			t.Errorf("after robots.txt has dropped it: %v after the one before, want %v", got, pace)
		}
	})

	t.Run("the fetch of robots.txt pays the pace, not the Crawl-delay", func(t *testing.T) {
		b := fleet(t)()
		page, robots := terms(4*pace), terms(4*pace)
		page.CrawlDelay, page.Told = minute, true
		robots.Exempt = true
		take(t, b, "example.com", robots)
		first := take(t, b, "example.com", page)
		if got := wait(first); got > 4*pace || got < 4*pace-soon {
			t.Errorf("the first page begins in %v, want %v", got, 4*pace)
		}
		second := take(t, b, "example.com", page)
		if got := second.At().Sub(first.At()); !near(got, minute) {
			t.Errorf("the second page begins %v after the first, want %v", got, minute)
		}
		again := take(t, b, "example.com", robots).At()
		if got := again.Sub(first.At()); got < 4*pace-early-slack || again.Sub(latest(first.At().Add(4*pace), time.Now())) > soon {
			t.Errorf("robots.txt begins %v after the first page, want %v", got, 4*pace)
		}
		third := take(t, b, "example.com", page)
		if got := third.At().Sub(second.At()); !near(got, minute) {
			t.Errorf("the third page begins %v after the second, want %v", got, minute)
		}
	})

	t.Run("jitter lengthens the interval", func(t *testing.T) {
		b := fleet(t)()
		take(t, b, "example.com", terms(minute))
		long := terms(minute)
		long.Jitter = 0.5
		if got := wait(take(t, b, "example.com", long)); !near(got, minute+minute/2) {
			t.Errorf("in %v, want %v", got, minute+minute/2)
		}
	})

	t.Run("a pause holds for all, and for slots taken before it", func(t *testing.T) {
		member := fleet(t)
		a, b := member(), member()
		claim(t, a, "example.com", terms(pace)).Free()
		taken := take(t, a, "example.com", terms(2*soon)) // until then the news have come
		const pause = 4 * soon
		paused := time.Now()
		b.Pause("example.com", pause)
		b.Pause("example.com", pace) // a shorter one changes nothing
		time.Sleep(time.Until(taken.At()))
		if taken.Claim(ctx) {
			t.Error("the slot that was taken before the pause still stands")
		}
		taken.Free()
		s := claim(t, a, "example.com", terms(pace))
		if got := time.Since(paused); got < pause-slack {
			t.Errorf("a request started %v after a pause of %v began", got, pause)
		}
		s.Free()
	})

	concurrency := func(t *testing.T, pace time.Duration) {
		member := fleet(t)
		terms := terms(pace)
		terms.Concurrency = 2
		var flying, most, starts atomic.Int64
		var wg sync.WaitGroup
		for range 3 {
			b := member()
			for range 2 {
				wg.Go(func() {
					for range 2 {
						s := claim(t, b, "example.com", terms)
						for n := flying.Add(1); ; {
							old := most.Load()
							if n <= old || most.CompareAndSwap(old, n) {
								break
							}
						}
						starts.Add(1)
						time.Sleep(5 * pace / 2)
						flying.Add(-1)
						s.Free()
					}
				})
			}
		}
		wg.Wait()
		if starts.Load() != 12 || most.Load() > 2 {
			t.Errorf("%d of 12 requests started, %d at once, want 2", starts.Load(), most.Load())
		}
	}
	t.Run("as many in flight as Concurrency says", func(t *testing.T) { concurrency(t, short) })
	t.Run("as many in flight at a slow pace", func(t *testing.T) { concurrency(t, 4*pace) })

	t.Run("a lease ends", func(t *testing.T) {
		member := fleet(t)
		a, b := member(), member()
		terms := terms(short)
		terms.Lease = 5 * pace
		since := time.Now()
		claimed := claim(t, a, "example.com", terms) // and its request never ends
		claim(t, b, "example.com", terms).Free()
		if got := time.Since(since); got < terms.Lease-slack {
			t.Errorf("another started after %v, while the lease is %v", got, terms.Lease)
		}
		claimed.Free()
	})

	t.Run("from the end to the start", func(t *testing.T) {
		member := fleet(t)
		a, b := member(), member()
		terms := terms(2 * pace)
		terms.EndToStart = true
		s := claim(t, a, "example.com", terms)
		time.Sleep(3 * pace)
		end := time.Now()
		s.Free()
		claim(t, b, "example.com", terms).Free()
		if got := time.Since(end); got < 2*pace-slack {
			t.Errorf("the next started %v after the end, want %v", got, 2*pace)
		}
	})

	t.Run("an ended context", func(t *testing.T) {
		b := fleet(t)()
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if s, err := b.Take(ended, "example.com", terms(minute)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v, want context.Canceled", s, err)
		}
		if got := wait(take(t, b, "example.com", terms(minute))); got > soon {
			t.Errorf("it has taken a slot: the next begins in %v", got)
		}
	})

	t.Run("the Limiters of a fleet keep one pace", func(t *testing.T) {
		member := fleet(t)
		const members, workers, pages = 3, 2, 4
		var mu sync.Mutex
		var begins []time.Time // of the slots, for a busy machine may go on late after one, and in time after the next
		starts := 0
		note := func(s politeness.Slot) {
			mu.Lock()
			defer mu.Unlock()
			begins = append(begins, s.At())
			if sooner := time.Until(s.At()); sooner > 0 {
				t.Errorf("a request may go on %v before its slot", sooner)
			}
		}
		var wg sync.WaitGroup
		for range members {
			l := &politeness.Limiter{Delay: pace, Shared: noting{member(), note}}
			for range workers {
				wg.Go(func() {
					for range pages {
						g, err := l.Acquire(ctx, page)
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						starts++
						mu.Unlock()
						g.Done(politeness.Outcome{Status: http.StatusOK})
					}
				})
			}
		}
		wg.Wait()
		if starts != members*workers*pages || len(begins) < starts {
			t.Fatalf("%d starts, %d slots", starts, len(begins))
		}
		slices.SortFunc(begins, time.Time.Compare)
		for i := range begins {
			for n := 1; i+n < len(begins); n++ {
				if took := begins[i+n].Sub(begins[i]); took < time.Duration(n)*pace-early-slack {
					t.Errorf("%d slots in %v, want a pace of %v", n+1, took, pace)
				}
			}
		}
	})

	t.Run("a 429 to one Limiter stops all", func(t *testing.T) {
		member := fleet(t)
		a := &politeness.Limiter{Delay: short, Shared: member()}
		b := &politeness.Limiter{Delay: short, Shared: member()}
		g, err := a.Acquire(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		refused := time.Now()
		g.Done(politeness.Outcome{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}})
		time.Sleep(soon) // until then the news have come
		if g, err = b.Acquire(ctx, page); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(refused); got < time.Second-slack {
			t.Errorf("the other started %v after the 429", got)
		}
		g.Done(politeness.Outcome{Status: http.StatusOK})
	})
}

const (
	pace   = 50 * time.Millisecond
	short  = 20 * time.Millisecond
	minute = time.Minute // will not pass
	soon   = 500 * time.Millisecond
	early  = 20 * time.Millisecond // by which At may be before the slot
	slack  = 5 * time.Millisecond  // by which members may differ about the time of a slot
)

var page = &url.URL{Scheme: "http", Host: "example.com", Path: "/"}

func terms(pace time.Duration) politeness.Terms {
	return politeness.Terms{Delay: pace, Pace: pace, Concurrency: 1, Lease: minute, MaxWait: 100 * time.Hour}
}

func take(t *testing.T, b politeness.Backend, host string, terms politeness.Terms) politeness.Slot {
	t.Helper()
	s, err := b.Take(context.Background(), host, terms)
	if err != nil {
		t.Errorf("Take: %v", err)
		return nothing{}
	}
	return s
}

// claim takes slots until one stands, as the Limiter does.
func claim(t *testing.T, b politeness.Backend, host string, terms politeness.Terms) politeness.Slot {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		s := take(t, b, host, terms)
		time.Sleep(time.Until(s.At()))
		if s.Claim(context.Background()) {
			return s
		}
		s.Free()
	}
	t.Error("no slot stands within a minute")
	return nothing{}
}

// noting is a Backend whose slots are noted as they are claimed.
type noting struct {
	politeness.Backend
	note func(politeness.Slot)
}

func (n noting) Take(ctx context.Context, host string, terms politeness.Terms) (politeness.Slot, error) {
	s, err := n.Backend.Take(ctx, host, terms)
	if err != nil {
		return nil, err
	}
	return notedSlot{s, n.note}, nil
}

type notedSlot struct {
	politeness.Slot
	note func(politeness.Slot)
}

func (s notedSlot) Claim(ctx context.Context) bool {
	if !s.Slot.Claim(ctx) {
		return false
	}
	s.note(s.Slot)
	return true
}

// nothing takes the place of a slot after an error.
type nothing struct{}

func (nothing) At() time.Time              { return time.Now() }
func (nothing) Claim(context.Context) bool { return true }
func (nothing) Free()                      {}

func wait(s politeness.Slot) time.Duration { return time.Until(s.At()) }

// near reports whether a wait is what it should be, and the test a bit late.
func near(got, want time.Duration) bool { return got <= want+slack && got > want-want/4 }

func eventually(t *testing.T, complaint string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(complaint)
		}
	}
}
