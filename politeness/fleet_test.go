package politeness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// handFleet is a Fleet that only records the Claims that it gets. The tests
// call the methods of the Claims.
type handFleet struct {
	mu          sync.Mutex
	claims      []fleet.Claim
	ended       []fleet.Record
	isUntrusted bool
}

func (f *handFleet) Look(c fleet.Claim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claims = append(f.claims, c)
}

func (f *handFleet) RequestEnded(_ string, r fleet.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, r)
}

func (f *handFleet) Trusted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.isUntrusted
}

func (f *handFleet) trust(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isUntrusted = !yes
}

// lookedAt() lets all goroutines run until they wait. It returns the Claims
// that were passed to Look since the previous call of lookedAt().
func (f *handFleet) lookedAt() (claims []fleet.Claim) {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	claims = f.claims
	f.claims = nil
	return claims
}

// claim() returns the latest Claim that was passed to Look.
func (f *handFleet) claim(t *testing.T) fleet.Claim {
	t.Helper()
	claims := f.lookedAt()
	if len(claims) == 0 || claims[len(claims)-1].Host() != "shop.example" {
		t.Fatalf("%d claims, want one of shop.example", len(claims))
	}
	return claims[len(claims)-1]
}

var (
	shop = &url.URL{Scheme: "http", Host: "shop.example"}
	ok   = politeness.Outcome{Status: 200}
)

// fleetTest makes requests to a Limiter in the background, and records when
// they start or why they fail.
type fleetTest struct {
	t       *testing.T
	fleet   *handFleet
	limiter *politeness.Limiter
	began   time.Time

	mu       sync.Mutex
	starts   []time.Duration
	errs     []error
	inFlight []*politeness.Grant
}

func newFleetTest(t *testing.T, l *politeness.Limiter) *fleetTest {
	f := &fleetTest{t: t, fleet: new(handFleet), limiter: l, began: time.Now()}
	l.Fleet = f.fleet
	return f
}

func (f *fleetTest) request(ctx context.Context, u *url.URL) {
	go func() {
		g, err := f.limiter.Acquire(ctx, u)
		f.mu.Lock()
		defer f.mu.Unlock()
		if err != nil {
			f.errs = append(f.errs, err)
			return
		}
		f.starts = append(f.starts, time.Since(f.began))
		f.inFlight = append(f.inFlight, g)
	}()
	synctest.Wait()
}

func (f *fleetTest) done() { f.end(ok) }

func (f *fleetTest) end(o politeness.Outcome) {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.inFlight {
		g.Done(o)
	}
	f.inFlight = nil
}

// seen returns the times at which requests started, counted from f.began. It
// also returns the errors of the requests that failed.
func (f *fleetTest) seen() (starts []time.Duration, errs []error) {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.starts), slices.Clone(f.errs)
}

func (f *fleetTest) started(want ...time.Duration) {
	f.t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.starts, want) {
		f.t.Errorf("requests started after %v, want %v", f.starts, want)
	}
}

func give(t *testing.T, c fleet.Claim, others, want bool) []byte {
	t.Helper()
	r, got := c.Give(others)
	if got != want {
		t.Errorf("Give returns over = %t, want %t", got, want)
	}
	return r.State
}

// A request waits until the Limiter owns its host. Further requests do not make
// the Limiter request the host again.
func TestFleet_WaitsForTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		f.started()
		if s := f.limiter.Stats(); s.Waiting != 1 {
			t.Errorf("Stats() = %+v, want 1 waiting", s)
		}
		time.Sleep(3 * time.Second)
		c.Own(fleet.Record{})
		f.started(3 * time.Second)
		f.done()
		f.request(t.Context(), shop)
		time.Sleep(time.Second)
		f.started(3*time.Second, 4*time.Second)
		if n := len(f.fleet.lookedAt()); n != 0 {
			t.Errorf("%d more calls of Look, want 0", n)
		}
		f.done()
	})
}

// If no member knows when the latest request to a host started, an interval
// passes before the first request of the new owner.
func TestFleet_UnknownLatestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		f.request(politeness.WithCrawlDelay(t.Context(), 5*time.Second), shop)
		f.fleet.claim(t).Own(fleet.Record{Missing: true})
		time.Sleep(10 * time.Second)
		f.started(5 * time.Second)
		f.done()
	})
}

// A new owner waits until the previous owner's interval is over. The wait is
// exact to the microsecond.
func TestFleet_StateIsHandedOver(t *testing.T) {
	for _, crawlDelay := range []time.Duration{7 * time.Second, 7*time.Second + time.Second/3} {
		synctest.Test(t, func(t *testing.T) {
			a := newFleetTest(t, &politeness.Limiter{})
			a.request(politeness.WithCrawlDelay(t.Context(), crawlDelay), shop)
			c := a.fleet.claim(t)
			c.Own(fleet.Record{})
			a.started(0)
			time.Sleep(time.Second)
			a.done()
			give(t, c, true, false) // the owner keeps the host, and waits 50 ms for another request
			time.Sleep(50 * time.Millisecond)
			if a.fleet.claim(t) != c {
				t.Error("Look is called with another Claim, want the same one")
			}
			state := give(t, c, true, true)

			b := newFleetTest(t, &politeness.Limiter{})
			b.request(t.Context(), shop)
			b.fleet.claim(t).Own(fleet.Record{State: state})
			time.Sleep(10 * time.Second)
			starts, _ := b.seen()
			if want := crawlDelay - 1050*time.Millisecond; len(starts) != 1 || starts[0] < want || starts[0] > want+time.Microsecond {
				t.Errorf("the next owner started after %v, want %v", starts, want)
			}
			b.done()
		})
	}
}

// A host is handed over. The interval that the new owner keeps is that of its
// own PerHost, counted from the previous owner's latest request. The declared
// Crawl-delay is handed over too, for the time when PerHost no longer replaces
// it.
func TestFleet_PerHostOfTheNewOwner(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		settings politeness.HostSettings // of the new owner
		want     []time.Duration         // of its first two requests
	}{
		"none":                  {politeness.HostSettings{}, []time.Duration{5950 * time.Millisecond, 12950 * time.Millisecond}},
		"a Delay":               {politeness.HostSettings{Delay: 20 * s}, []time.Duration{18950 * time.Millisecond, 38950 * time.Millisecond}},
		"no Crawl-delay":        {politeness.HostSettings{CrawlDelay: -1}, []time.Duration{0, s}},
		"a shorter Crawl-delay": {politeness.HostSettings{CrawlDelay: 3 * s}, []time.Duration{1950 * time.Millisecond, 4950 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newFleetTest(t, &politeness.Limiter{})
				a.request(politeness.WithCrawlDelay(t.Context(), 7*s), shop)
				c := a.fleet.claim(t)
				c.Own(fleet.Record{})
				a.started(0)
				time.Sleep(s)
				a.done()
				give(t, c, true, false)
				time.Sleep(50 * time.Millisecond)
				state := give(t, c, true, true)

				b := newFleetTest(t, &politeness.Limiter{PerHost: func(string) politeness.HostSettings { return tt.settings }})
				b.request(t.Context(), shop)
				b.request(t.Context(), shop)
				b.fleet.claim(t).Own(fleet.Record{State: state})
				for range 60 {
					time.Sleep(s)
					b.done()
				}
				b.started(tt.want...)
			})
		})
	}
}

// An owner with one slot for a host gives the host away only when its request
// is over, although its Limiter has more slots for other hosts.
func TestFleet_PerHostConcurrencyOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Concurrency: 3, PerHost: func(string) politeness.HostSettings {
			return politeness.HostSettings{Concurrency: 1}
		}})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		f.started(0)
		time.Sleep(10 * time.Second)
		give(t, c, true, false)
		f.done()
		time.Sleep(time.Second)
		give(t, c, true, true)
	})
}

// Other members have started requests to hosts with a Crawl-delay of a day. A
// member that learns this from them rejects its requests, and evicts the hosts
// early, so there are never more than MaxHosts.
func TestFleet_EvictsHostsWithLongCrawlDelays(t *testing.T) {
	const day = 24 * time.Hour
	state := schedule.State{
		HasStarted: true, HasCrawlDelayStart: true, CrawlDelay: day, CrawlDelayLeft: day,
	}
	// The Crawl-delay may have been declared only after the start.
	declaredLate := state
	declaredLate.CrawlDelayLeft = 0
	for _, tt := range []struct {
		name    string
		state   schedule.State
		isOwned bool
	}{
		{"this member becomes the owner", state, true},
		{"another member remains the owner", state, false},
		{"declared after the start", declaredLate, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleetTest(t, &politeness.Limiter{MaxHosts: 2})
				for i := range 10 {
					f.request(t.Context(), &url.URL{Scheme: "http", Host: fmt.Sprintf("h%d.example", i)})
					claims := f.fleet.lookedAt()
					c := claims[len(claims)-1]
					r := fleet.Record{State: tt.state.Encode()}
					if tt.isOwned {
						c.Own(r)
					} else {
						c.Wait(time.Now().Add(time.Second), r, nil)
					}
					time.Sleep(time.Minute)
					give(t, c, false, true)
				}
				if starts, errs := f.seen(); len(starts) != 0 || len(errs) != 10 {
					t.Errorf("%d requests have started, and %d were rejected; want 0, 10", len(starts), len(errs))
				}
				if s := f.limiter.Stats(); s.Hosts > 2 {
					t.Errorf("%d hosts are stored, want at most 2", s.Hosts)
				}
			})
		})
	}
}

// The requests of members may declare different Crawl-delays. The latest
// Crawl-delay counts, whichever member received it.
func TestFleet_LatestCrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			// isDeclared reports that a request of this member declared a
			// Crawl-delay while another member owned the host.
			isDeclared bool
			want       time.Duration
		}{{true, 5 * time.Second}, {false, time.Second}} {
			f := newFleetTest(t, &politeness.Limiter{})
			f.request(politeness.WithCrawlDelay(t.Context(), 5*time.Second), shop)
			c := f.fleet.claim(t)
			c.Own(fleet.Record{})
			f.started(0)
			f.done()
			time.Sleep(40 * time.Second)
			give(t, c, false, true)
			ctx := t.Context()
			if tt.isDeclared {
				ctx = politeness.WithCrawlDelay(ctx, 5*time.Second)
			}
			f.request(ctx, shop)
			f.fleet.claim(t).Own(fleet.Record{State: schedule.State{}.Encode()}) // the previous owner received that there is no longer a Crawl-delay
			f.started(0, 40*time.Second)
			f.done()
			f.request(t.Context(), shop)
			time.Sleep(10 * time.Second)
			f.started(0, 40*time.Second, 40*time.Second+tt.want)
			f.done()
		}
	})
}

// A member requests a host with one Crawl-delay, and receives it from an owner
// that has stored another. The member has the Fleet store its own at once.
// Otherwise the fleet would lose it if the member died.
func TestFleet_StoresADeclarationBeforeOwnership(t *testing.T) {
	for _, tt := range []struct{ declared, stored, want time.Duration }{
		{5 * time.Second, 10 * time.Second, 5 * time.Second},
		{0, 10 * time.Second, 0},
		{5 * time.Second, 0, 5 * time.Second},
		{5 * time.Second, 5 * time.Second, -1}, // there is nothing to store
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleetTest(t, &politeness.Limiter{})
			f.request(politeness.WithCrawlDelay(t.Context(), tt.declared), shop)
			c := f.fleet.claim(t)
			stored := fleet.Record{State: schedule.State{CrawlDelay: tt.stored}.Encode()}
			c.Wait(time.Now().Add(time.Minute), stored, errors.New("another member owns the host"))
			c.Own(stored)
			isLookedAt := len(f.fleet.lookedAt()) > 0
			got := time.Duration(-1)
			if state := give(t, c, false, false); state != nil {
				decoded, _ := schedule.DecodeState(state)
				got = decoded.CrawlDelay
			}
			if got != tt.want || isLookedAt != (tt.want >= 0) {
				t.Errorf("declared %v, stored %v: the member stores %v, and Look was called: %t; want %v, %t (-1ns: nothing is stored)", tt.declared, tt.stored, got, isLookedAt, tt.want, tt.want >= 0)
			}
			if state := give(t, c, false, false); state != nil {
				t.Errorf("the second state is %v, want none because the first contains the Crawl-delay", state)
			}
			f.done()
		})
	}
}

// A member requests a host, and its robots.txt declares no Crawl-delay, or one
// that is shorter than Delay. Then the member receives the host from an owner
// that knows an older Crawl-delay. The declaration of the member counts.
func TestFleet_DeclarationBeforeOwnership(t *testing.T) {
	for _, declared := range []time.Duration{0, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleetTest(t, &politeness.Limiter{})
			f.request(politeness.WithCrawlDelay(t.Context(), declared), shop)
			before := schedule.State{
				HasStarted:           true,
				SinceStart:           500 * time.Millisecond,
				HasCrawlDelayStart:   true,
				SinceCrawlDelayStart: 500 * time.Millisecond,
				CrawlDelay:           10 * time.Second,
			}
			f.fleet.claim(t).Own(fleet.Record{State: before.Encode()})
			time.Sleep(time.Minute)
			f.started(500 * time.Millisecond)
			f.done()
		})
	}
}

// If other members wait, an owner has the host for a term of 2 s. Then it gives
// the host away although its requests are in flight, unless only one may be in
// flight. The next owner counts them until they are reported to have ended.
func TestFleet_Term(t *testing.T) {
	for name, tt := range map[string]struct {
		concurrency  int
		mustEndFirst bool // the request in flight must end before the host is given away
	}{"one slot": {1, true}, "three slots": {3, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleetTest(t, &politeness.Limiter{Delay: 900 * time.Millisecond, Concurrency: tt.concurrency})
				for range 5 {
					f.request(t.Context(), shop)
				}
				c := f.fleet.claim(t)
				c.Own(fleet.Record{})
				give(t, c, true, false)
				f.started(0)
				time.Sleep(850 * time.Millisecond)
				f.done()
				time.Sleep(850 * time.Millisecond)
				f.done()
				time.Sleep(200 * time.Millisecond) // after 1.9 s, the third request is in flight
				time.Sleep(time.Second)            // the owner's term is over, so no fourth request starts
				f.started(0, 900*time.Millisecond, 1800*time.Millisecond)
				if tt.mustEndFirst {
					give(t, c, true, false)
					f.done()
				}
				if f.fleet.claim(t) != c {
					t.Fatal("Look is not called with the same Claim, although the host may be given away")
				}
				r, over := c.Give(true)
				if inFlight := map[bool]int{true: 0, false: 1}[tt.mustEndFirst]; !over || r.InFlight != inFlight {
					t.Errorf("Give returns over = %t and %d requests in flight, want true and %d", over, r.InFlight, inFlight)
				}
				f.done()
				if n := len(f.fleet.ended); !tt.mustEndFirst && (n == 0 || f.fleet.ended[n-1].InFlight != 0) {
					t.Errorf("calls of Ended: %v, want the last one with none in flight", f.fleet.ended)
				}
				next := f.fleet.claim(t) // the waiting requests need the host again
				if next == c {
					t.Fatal("Look is called with the Claim that is over, want a new one")
				}
				next.Own(fleet.Record{State: []byte{}, InFlight: tt.concurrency})
				time.Sleep(time.Second)
				f.started(0, 900*time.Millisecond, 1800*time.Millisecond) // all slots are taken by requests of others
				next.Own(fleet.Record{InFlight: tt.concurrency - 1})
				time.Sleep(time.Second)
				if starts, _ := f.seen(); len(starts) != 4 {
					t.Errorf("requests started at %v, want 4 starts", starts)
				}
				f.done()
			})
		})
	}
}

// A quota is shared with the requests in flight of other members, which the
// server has presumably not counted yet: with 5 requests left for 60 s and 2 in
// flight elsewhere, a request starts every 20 s.
func TestFleet_QuotaCountsRequestsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Concurrency: 5})
		f.request(t.Context(), shop)
		f.fleet.claim(t).Own(fleet.Record{InFlight: 2})
		f.end(politeness.Outcome{Status: 200, Header: http.Header{"Ratelimit": {`"default";r=5;t=60`}}})
		f.request(t.Context(), shop)
		time.Sleep(time.Minute)
		f.started(0, 20*time.Second)
		f.done()
	})
}

// An owner makes at least one request before it gives the host away, however
// long the interval before it is.
func TestFleet_TermHasOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Delay: 10 * time.Second})
		f.request(t.Context(), shop)
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{Missing: true})
		give(t, c, true, false)
		time.Sleep(9 * time.Second)
		give(t, c, true, false)
		time.Sleep(time.Second)
		f.started(10 * time.Second)
		f.done()
		if f.fleet.claim(t) != c {
			t.Error("Look is called with another Claim, want the same one")
		}
		give(t, c, true, true)
		f.fleet.claim(t).Own(fleet.Record{})
		time.Sleep(10 * time.Second)
		f.started(10*time.Second, 20*time.Second)
		f.done()
	})
}

// If an owner's requests wait for a limit that all hosts share, the owner gives
// the host to another member.
func TestFleet_BlockedByWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Within: atOnce(1)})
		f.request(t.Context(), &url.URL{Host: "slow.example"})
		f.fleet.lookedAt()[0].Own(fleet.Record{})
		f.started(0)
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		give(t, c, true, false)
		time.Sleep(2*time.Second + time.Millisecond)
		if f.fleet.claim(t) != c {
			t.Error("Look is called with another Claim, want the same one")
		}
		give(t, c, true, true)
		again := f.fleet.claim(t)
		f.done()
		again.Own(fleet.Record{})
		if starts, _ := f.seen(); len(starts) != 2 {
			t.Errorf("requests started at %v, want 2 starts", starts)
		}
		f.done()
	})
}

// No request starts while the Fleet is not trusted. When the Fleet is trusted
// again, requests start if the Limiter still owns the host. If the Limiter has
// lost the host, it first requests the host again.
func TestFleet_Trust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost []string
		f := newFleetTest(t, &politeness.Limiter{Observer: &politeness.Observer{
			Lost: func(_ context.Context, e politeness.Event) { lost = append(lost, e.Host) },
		}})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		f.started(0)
		f.done()
		f.fleet.trust(false)
		f.request(t.Context(), shop)
		time.Sleep(20 * time.Second)
		f.started(0)
		f.fleet.trust(true)
		c.Own(fleet.Record{})
		f.started(0, 20*time.Second)
		f.done()
		f.fleet.trust(false)
		f.request(t.Context(), shop)
		time.Sleep(20 * time.Second)
		c.Lose()
		f.fleet.trust(true)
		next := f.fleet.claim(t)
		f.started(0, 20*time.Second)
		next.Own(fleet.Record{Missing: true})
		time.Sleep(time.Second)
		f.started(0, 20*time.Second, 41*time.Second)
		f.done()
		if !slices.Equal(lost, []string{"shop.example"}) {
			t.Errorf("Lost received the hosts %q, want only %q", lost, "shop.example")
		}
	})
}

// If the Fleet reports that the Limiter cannot own the host in time, waiting
// requests are rejected, with the Fleet's reason.
func TestFleet_WaitWithAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		f.request(ctx, shop)
		f.request(ctx, shop)
		away := errors.New("away")
		f.fleet.claim(t).Wait(time.Now().Add(2*time.Minute), fleet.Record{}, away)
		_, errs := f.seen()
		if time.Since(f.began) != 0 || len(errs) != 2 {
			t.Fatalf("Acquire returned the errors %v after %v, want 2 at once", errs, time.Since(f.began))
		}
		for _, err := range errs {
			delay, is := errors.AsType[*politeness.DelayError](err)
			if !is || !errors.Is(err, away) || delay.Until.Sub(f.began) < 2*time.Minute || !strings.Contains(err.Error(), "about") {
				t.Errorf("error %v, want a DelayError for at least 2m that wraps %q and contains %q", err, away, "about")
			}
		}
	})
}

// The fleet remembers for an hour what was learned about a host.
func TestFleet_RemembersForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		f.request(politeness.WithCrawlDelay(t.Context(), 5*time.Second), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		f.done()
		time.Sleep(10 * time.Second)
		if r, over := c.Give(false); !over || len(r.State) == 0 || r.Keep != time.Hour {
			t.Errorf("Give = %+v, %t; want a State to keep for 1h, true", r, over)
		}
	})
}

// While a request waits for the ownership of its host, other requests use up
// Within or GlobalRate, so that the request is rejected when the host is owned.
// The member keeps the host for the retry until its term is over, although
// another member waits.
func TestFleet_RetryAfterRejectionByNextStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval = 3 * time.Second
		within := &politeness.Limiter{
			Delay: interval,
			Key:   func(context.Context, *url.URL) (string, error) { return "all", nil },
		}
		tokens := rate.NewLimiter(rate.Every(interval), 1)
		for reason, tt := range map[politeness.Reason]struct {
			limiter *politeness.Limiter
			use     func() // takes what the request needs
		}{
			politeness.ReasonWithin: {&politeness.Limiter{Within: within}, func() {
				g, err := within.Acquire(t.Context(), shop)
				if err != nil {
					t.Fatal(err)
				}
				g.Done(ok)
			}},
			politeness.ReasonGlobalRate: {&politeness.Limiter{GlobalRate: tokens}, func() { tokens.Allow() }},
		} {
			f := newFleetTest(t, tt.limiter)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			f.request(ctx, shop)
			c := f.fleet.claim(t)
			tt.use()
			c.Own(fleet.Record{})
			_, errs := f.seen()
			if len(errs) != 1 {
				t.Fatalf("Acquire returned %d errors, want 1", len(errs))
			}
			if rejected, is := errors.AsType[*politeness.DelayError](errs[0]); !is || rejected.Reason != reason {
				t.Fatalf("Acquire: error %v, want a DelayError with the reason %q", errs[0], reason)
			}
			time.Sleep(1900 * time.Millisecond)
			give(t, c, true, false)
			time.Sleep(200 * time.Millisecond)
			give(t, c, true, true)
			cancel()
		}
	})
}

// The Limiter calls the Fleet's method Look again at the time that the Fleet
// has passed to Claim.Wait.
func TestFleet_LooksAgainInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Wait(time.Now().Add(3*time.Second), fleet.Record{}, errors.New("not yet"))
		time.Sleep(2999 * time.Millisecond)
		if n := len(f.fleet.lookedAt()); n != 0 {
			t.Errorf("%d calls of Look before the 3s are over, want 0", n)
		}
		time.Sleep(2 * time.Millisecond)
		if f.fleet.claim(t) != c {
			t.Error("Look is called with another Claim, want the same one")
		}
		c.Own(fleet.Record{})
		f.started(3001 * time.Millisecond)
		f.done()
	})
}

// A request that is rejected at once is expected to be retried. Therefore the
// Limiter requests the host from the Fleet, and keeps the host for a while.
func TestFleet_MaxWaitBelowZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{MaxWait: -1})
		f.request(t.Context(), shop)
		if _, errs := f.seen(); len(errs) != 1 {
			t.Fatalf("%d requests are rejected, want 1", len(errs))
		}
		c := f.fleet.lookedAt()[0]
		give(t, c, false, false)
		c.Own(fleet.Record{})
		give(t, c, false, false)
		time.Sleep(time.Second)
		give(t, c, true, false)
		f.request(t.Context(), shop)
		f.started(time.Second)
		f.done()
		time.Sleep(5 * time.Second)
		give(t, c, false, true)

		f.request(t.Context(), shop) // this request is not retried
		f.fleet.lookedAt()
		time.Sleep(time.Minute)
		claims := f.fleet.lookedAt()
		if len(claims) == 0 {
			t.Fatal("Look is not called when no retry is expected any more")
		}
		give(t, claims[0], false, true)
	})
}

// If all requests to a host are canceled before the host is owned, the Claim
// ends.
func TestFleet_CanceledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		ctx, cancel := context.WithCancel(t.Context())
		f.request(ctx, shop)
		c := f.fleet.claim(t)
		cancel()
		if f.fleet.claim(t) != c {
			t.Error("Look is called with another Claim, want the same one")
		}
		give(t, c, false, true)
		c.Own(fleet.Record{}) // too late: the Claim is over
		if s := f.limiter.Stats(); s.Hosts != 1 || s.Waiting != 0 {
			t.Errorf("Stats() = %+v, want 1 host and none waiting", s)
		}
	})
}

// An owner keeps an idle host until the host's interval is over. If the host is
// paused for more than 30 s, the owner gives it away at once.
func TestFleet_IdleHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		synctest.Wait()
		f.done()
		give(t, c, false, false)
		time.Sleep(time.Second)
		if state := give(t, c, false, true); !bytes.Equal(state, schedule.State{}.Encode()) {
			t.Errorf("the state for the next owner is %v, want an empty one", state)
		}
		f.request(t.Context(), shop)
		c = f.fleet.claim(t)
		c.Own(fleet.Record{})
		f.end(politeness.Outcome{Status: 503, Header: map[string][]string{"Retry-After": {"3600"}}})
		if state := give(t, c, false, true); len(state) == 0 {
			t.Error("the state for the next owner is empty, want a pause of 1h")
		}
	})
}

func TestFleetWithinIsAnError(t *testing.T) {
	l := &politeness.Limiter{Within: &politeness.Limiter{Fleet: new(handFleet)}}
	if _, err := l.Acquire(t.Context(), shop); err == nil || !strings.Contains(err.Error(), "Fleet") {
		t.Error(err)
	}
}

// While a host is not owned, its requests do not queue in Limiter.Within, and
// take no slot there.
func TestFleet_NoQueueWithinBeforeOwnership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		within := &politeness.Limiter{Delay: time.Second, Concurrency: 2}
		f := newFleetTest(t, &politeness.Limiter{Delay: -1, Concurrency: 2, Within: within})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		if s := within.Stats(); s.InFlight != 0 || s.Waiting != 0 {
			t.Errorf("Stats() = %+v, want none waiting or in flight before the host is owned", s)
		}
		c.Own(fleet.Record{})
		f.started(0)
		f.done()
		if s := within.Stats(); s.InFlight != 0 {
			t.Errorf("Stats() = %+v, want none in flight", s)
		}
	})
}

// A Record of the Fleet may contain a state that the owner itself has stored.
// Such a state does not replace anything that the owner has learned since.
func TestFleet_OwnStateComesBack(t *testing.T) {
	for _, tt := range []struct {
		name        string
		first, then []int // the statuses before and after the state is stored
		pause       time.Duration
	}{
		{"a good response since", []int{429}, []int{200, 429}, 5 * time.Second},
		{"another 429 since", []int{429}, []int{429, 429}, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleetTest(t, &politeness.Limiter{Delay: 100 * time.Millisecond})
				get := func(status int) {
					time.Sleep(time.Until(f.limiter.Next(shop)) + time.Millisecond)
					f.request(t.Context(), shop)
					f.end(politeness.Outcome{Status: status})
				}
				f.request(t.Context(), shop)
				c := f.fleet.claim(t)
				c.Own(fleet.Record{})
				f.end(politeness.Outcome{Status: tt.first[0]})
				stored, _ := c.Give(false)
				at := time.Now()
				for i, status := range tt.then {
					get(status)
					if i == 0 {
						c.Own(fleet.Record{State: stored.State, Age: time.Since(at)})
					}
				}
				if pause := time.Until(f.limiter.Next(shop)); pause < tt.pause || pause > tt.pause*11/10 {
					t.Errorf("the host is paused for %v, want %v", pause, tt.pause)
				}
			})
		})
	}
}
