package politeness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A trip is one request of a random schedule. Both its arrival and its
// cancellation are times since the beginning of the schedule.
type trip struct {
	arrive time.Duration
	cancel time.Duration // 0 means never
	crawl  time.Duration // the Crawl-delay or untold, Exempt, ExemptInTurn
	work   time.Duration
	status int
	after  time.Duration // Retry-After, in whole seconds; 0 means none
}

const untold time.Duration = -3

func (t trip) exempt() bool { return t.crawl == Exempt || t.crawl == ExemptInTurn }

// randomTrips returns n trips with random times. It chooses any nanosecond, so
// two events hardly ever happen at the same instant. The order of events at one
// instant is undefined.
func randomTrips(r *rand.Rand, n int) []trip {
	span := time.Duration(n) * time.Second * time.Duration(1+r.IntN(3)) / 2
	trips := make([]trip, n)
	for i := range trips {
		t := &trips[i]
		*t = trip{arrive: 1 + time.Duration(r.Int64N(int64(span))), crawl: untold, status: 200}
		t.work = time.Duration(1 + r.Int64N(int64(2*time.Second)))
		switch r.IntN(12) {
		case 0, 1:
			t.crawl = time.Duration(r.Int64N(int64(5 * time.Second)))
		case 2:
			t.crawl = 0
		case 3:
			t.crawl = Exempt
		case 4:
			t.crawl = ExemptInTurn
		}
		if r.IntN(5) == 0 {
			t.cancel = t.arrive + 1 + time.Duration(r.Int64N(int64(10*time.Second)))
		}
		if r.IntN(10) == 0 {
			t.status, t.after = 429, time.Duration(1+r.IntN(20))*time.Second
		}
	}
	slices.SortFunc(trips, func(a, b trip) int { return cmp.Compare(a.arrive, b.arrive) })
	return trips
}

// ideal() returns the times at which the trips should start. It does the
// Limiter's work for one host in a simple way: it handles one event after the
// other, and computes everything anew each time.
func ideal(l *Limiter, trips []trip) []time.Duration {
	const past = -time.Hour
	starts := make([]time.Duration, len(trips))
	var queue, inFlight []int
	var now, declared, until time.Duration
	last, counted := past, past
	arrived := 0
	lastWasRobots := false
	robotsFrom := past // no robots.txt starts earlier while pages wait
	stamp := func(i int) {
		last = now
		if !trips[i].exempt() {
			counted = now
		}
	}
	for {
		// The first request in the queue starts as soon as it may. If both a
		// fetch of robots.txt and a page may start, they take turns.
		next := time.Duration(1<<62 - 1)
		page := slices.IndexFunc(queue, func(i int) bool { return trips[i].crawl != Exempt })
		robots := slices.IndexFunc(queue, func(i int) bool { return trips[i].crawl == Exempt })
		started := false
		heads := []int{robots, page}
		if lastWasRobots {
			heads = []int{page, robots}
		}
		for _, head := range heads {
			if head < 0 {
				continue
			}
			trip := trips[queue[head]]
			crawl := max(declared, trip.crawl, 0)
			slots := max(l.Concurrency, 1)
			if crawl > 0 {
				slots = 1
			}
			due := max(now, last+l.Delay, until)
			if !trip.exempt() {
				due = max(due, counted+crawl)
			}
			if head == robots && page >= 0 {
				due = max(due, robotsFrom)
			}
			if len(inFlight) >= slots {
				if due == now {
					break // this request waits only for a slot, so nothing overtakes it
				}
				continue
			}
			if due == now {
				starts[queue[head]] = now
				stamp(queue[head])
				lastWasRobots = trip.crawl == Exempt
				inFlight = append(inFlight, queue[head])
				queue = slices.Delete(queue, head, head+1)
				started = true
				break
			}
			next = min(next, due)
		}
		if started {
			continue
		}
		event, who := "start", -1
		if arrived < len(trips) && trips[arrived].arrive < next {
			next, event, who = trips[arrived].arrive, "arrive", arrived
		}
		for _, i := range queue {
			if c := trips[i].cancel; c > 0 && c < next {
				next, event, who = c, "cancel", i
			}
		}
		for _, i := range inFlight {
			if end := starts[i] + trips[i].work; end < next {
				next, event, who = end, "end", i
			}
		}
		if who < 0 && len(queue) == 0 {
			return starts
		}
		now = next
		switch event {
		case "arrive":
			arrived++
			queue = append(queue, who)
			if c := trips[who].crawl; c >= 0 {
				declared = c
			}
		case "cancel":
			queue = slices.DeleteFunc(queue, func(i int) bool { return i == who })
		case "end":
			inFlight = slices.DeleteFunc(inFlight, func(i int) bool { return i == who })
			if trips[who].crawl == Exempt && len(queue) > 0 {
				robotsFrom = max(robotsFrom, now+trips[who].work.Truncate(l.Delay))
			}
			if trips[who].status == 429 {
				until = max(until, now+trips[who].after)
			}
			if l.EndToStart {
				stamp(who)
			}
		}
	}
}

// run() makes the requests of the trips through l, and returns their start
// times.
func run(t *testing.T, l *Limiter, trips []trip) []time.Duration {
	starts := make([]time.Duration, len(trips))
	zero := time.Now()
	var wg sync.WaitGroup
	for i, trip := range trips {
		u := &url.URL{Scheme: "http", Host: "example.com"}
		if trip.crawl == Exempt { // the file of another port, which no page needs
			u.Host += ":8080"
		}
		wg.Go(func() {
			time.Sleep(trip.arrive)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if trip.cancel > 0 {
				stop := time.AfterFunc(trip.cancel-trip.arrive, cancel)
				defer stop.Stop()
			}
			if trip.crawl != untold {
				ctx = WithCrawlDelay(ctx, trip.crawl)
			}
			g, err := l.Acquire(ctx, u)
			if err != nil {
				if trip.cancel == 0 || ctx.Err() == nil {
					t.Errorf("trip %d: error %v, want none because its context has not ended", i, err)
				}
				return
			}
			starts[i] = time.Since(zero)
			time.Sleep(trip.work)
			o := Outcome{Status: trip.status, Latency: trip.work}
			if trip.after > 0 {
				o.Header = http.Header{"Retry-After": {strconv.Itoa(int(trip.after / time.Second))}}
			}
			g.Done(o)
			g.Done(Outcome{Status: 503}) // only the first Done counts
		})
	}
	wg.Wait()
	if s := l.Stats(); s.InFlight != 0 || s.Waiting != 0 {
		t.Errorf("after all trips: %+v, want none waiting or in flight", s)
	}
	return starts
}

// In random schedules, every request starts at exactly the nanosecond that
// ideal() computes. This means that the Limiter keeps the interval and the
// order, leaves no gap after a canceled request, and wastes no time.
func TestRandomSchedulesStartWhenTheyShould(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 9309))
				l := &Limiter{
					Delay:         time.Duration(1 + r.Int64N(int64(2*time.Second))),
					Concurrency:   1 + r.IntN(4),
					EndToStart:    r.IntN(3) == 0,
					MaxCrawlDelay: -1,
				}
				trips := randomTrips(r, 60)
				want := ideal(l, trips)
				got := run(t, l, trips)
				for i := range trips {
					if got[i] != want[i] {
						t.Fatalf("Delay %v, Concurrency %d, EndToStart %v: trip %d (%+v) started at %v, want %v",
							l.Delay, l.Concurrency, l.EndToStart, i, trips[i], got[i], want[i])
					}
				}
			})
		})
	}
}

// The exact starts cannot be predicted if there is jitter, an adaptive delay,
// back-off, deadlines or long Crawl-delays. Even so, no two starts are closer
// than the interval, no start is within a pause, and the order is kept. Every
// request is granted, rejected or canceled.
func TestRandomSchedulesKeepTheirBounds(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 2309))
				l := &Limiter{
					Delay:       time.Duration(1 + r.Int64N(int64(2*time.Second))),
					Concurrency: 1 + r.IntN(4), Jitter: r.Float64(), EndToStart: r.IntN(3) == 0,
					Adaptive: float64(r.IntN(3)), MaxCrawlDelay: 4 * time.Second,
					BackOff: 3 * time.Second, MaxBackOff: 20 * time.Second, MaxHosts: 1,
				}
				trips := randomTrips(r, 60)
				zero := time.Now()
				type served struct {
					trip       int
					start, end time.Duration
				}
				var (
					wg      sync.WaitGroup
					mu      sync.Mutex
					log     []served
					pauses  []served // start: when the 429 came; end: when its pause may end at the earliest
					replied int
				)
				for i, trip := range trips {
					wg.Go(func() {
						time.Sleep(trip.arrive)
						ctx, cancel := context.WithCancel(t.Context())
						if trip.cancel > 0 {
							ctx, cancel = context.WithTimeout(ctx, trip.cancel-trip.arrive)
						}
						defer cancel()
						if trip.crawl != untold {
							ctx = WithCrawlDelay(ctx, trip.crawl)
						}
						g, err := l.Acquire(ctx, &url.URL{Scheme: "http", Host: "example.com"})
						start := time.Since(zero)
						if err == nil {
							time.Sleep(trip.work)
							g.Done(Outcome{Status: trip.status, Latency: trip.work})
						}
						mu.Lock()
						defer mu.Unlock()
						replied++
						if err != nil {
							return
						}
						end := time.Since(zero)
						log = append(log, served{i, start, end})
						if trip.status == 429 {
							pauses = append(pauses, served{i, end, end + l.BackOff})
						}
					})
				}
				wg.Wait()
				if replied != len(trips) {
					t.Fatalf("%d requests have received a response, want %d", replied, len(trips))
				}
				slices.SortFunc(log, func(a, b served) int { return cmp.Compare(a.start, b.start) })
				for i := 1; i < len(log); i++ {
					a, b := log[i-1], log[i]
					if b.trip < a.trip && trips[a.trip].crawl != Exempt && trips[b.trip].crawl != Exempt {
						t.Errorf("trip %d starts before trip %d, want the order of arrival", a.trip, b.trip)
					}
					from := a.start
					if l.EndToStart && a.end < b.start {
						from = a.end
					}
					if gap := b.start - from; gap < l.Delay {
						t.Errorf("trips %d and %d are %v apart, want the Delay of %v at least", a.trip, b.trip, gap, l.Delay)
					}
					if crawl := trips[b.trip].crawl; !trips[a.trip].exempt() && b.start-from < crawl {
						t.Errorf("trips %d and %d are %v apart, want the Crawl-delay of %v at least", a.trip, b.trip, b.start-from, crawl)
					}
				}
				slices.SortFunc(pauses, func(a, b served) int { return cmp.Compare(a.start, b.start) })
				incident := time.Duration(-1)
				for _, p := range pauses {
					began := log[slices.IndexFunc(log, func(s served) bool { return s.trip == p.trip })].start
					if began <= incident {
						continue // this 429 belongs to the previous incident
					}
					incident = p.start
					for _, s := range log {
						if s.start > p.start && s.start < p.end {
							t.Errorf("trip %d started %v after the start of a pause, want after its end", s.trip, s.start-p.start)
						}
					}
				}
			})
		})
	}
}

// A request whose wait would outlast its deadline is rejected at once. The
// error has the exact time at which the request would have started. The
// rejection does not delay other requests.
func TestRandomDeadlinesAreRefusedExactly(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1994))
			l := &Limiter{Delay: time.Duration(1 + r.Int64N(int64(time.Second)))}
			zero := time.Now()
			free := time.Duration(0) // when the next request may start
			var last time.Duration
			var wg sync.WaitGroup
			for i := range 80 {
				arrive := last + time.Duration(1+r.Int64N(int64(time.Second)))
				last = arrive
				patience := time.Duration(1 + r.Int64N(int64(4*time.Second)))
				start := max(arrive, free)
				fits := start < arrive+patience
				if fits {
					free = start + l.Delay
				}
				wg.Go(func() {
					time.Sleep(arrive)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					g, err := l.Acquire(ctx, &url.URL{Scheme: "http", Host: "example.com"})
					now := time.Since(zero)
					if !fits {
						if d, ok := errors.AsType[*DelayError](err); !ok || d.Until.Sub(zero) != start || now != arrive {
							t.Errorf("seed %d, request %d: error %v at %v, want a DelayError until %v at %v", seed, i, err, now, start, arrive)
						}
						return
					}
					if err != nil || now != start {
						t.Errorf("seed %d, request %d: error %v at %v, want a start at %v", seed, i, err, now, start)
						return
					}
					g.Done(Outcome{Status: 200})
				})
			}
			wg.Wait()
		})
	}
}

// The requests to a host keep the delay of the host, and also the delay of the
// machine that the host shares with others. They start in the order in which
// they were made, even if some of them are canceled.
func TestRandomSchedulesWithinMachines(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 791))
			machine := func(_ context.Context, u *url.URL) (string, error) { return u.Host[len(u.Host)-1:], nil }
			l := &Limiter{
				Delay: time.Duration(1 + r.Int64N(int64(time.Second))), Concurrency: 1 + r.IntN(3),
				Within: &Limiter{
					Delay: time.Duration(1 + r.Int64N(int64(time.Second))), Concurrency: 1 + r.IntN(4), Key: machine,
					Within: &Limiter{Delay: -1, Concurrency: r.IntN(4) - 1, Key: func(context.Context, *url.URL) (string, error) { return "all", nil }},
				},
			}
			type start struct {
				trip int
				at   time.Duration
			}
			byHost, byMachine := map[string][]start{}, map[string][]start{}
			trips := randomTrips(r, 80)
			zero := time.Now()
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i, trip := range trips {
				u := &url.URL{Scheme: "http", Host: fmt.Sprintf("host%d.on%d", i%5, i%5%2)}
				wg.Go(func() {
					time.Sleep(trip.arrive)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if trip.cancel > 0 {
						stop := time.AfterFunc(trip.cancel-trip.arrive, cancel)
						defer stop.Stop()
					}
					g, err := l.Acquire(ctx, u)
					if err != nil {
						if ctx.Err() == nil {
							t.Errorf("seed %d, trip %d: error %v, want none because its context has not ended", seed, i, err)
						}
						return
					}
					mu.Lock()
					s := start{i, time.Since(zero)}
					byHost[u.Host] = append(byHost[u.Host], s)
					byMachine[u.Host[len(u.Host)-1:]] = append(byMachine[u.Host[len(u.Host)-1:]], s)
					mu.Unlock()
					time.Sleep(trip.work)
					g.Done(Outcome{Status: 200})
				})
			}
			wg.Wait()
			closer := func(of map[string][]start, delay time.Duration, inOrder bool) {
				for name, starts := range of {
					for i := 1; i < len(starts); i++ {
						a, b := starts[i-1], starts[i]
						if b.at-a.at < delay || inOrder && b.trip < a.trip {
							t.Errorf("seed %d, %s: trip %d at %v, trip %d at %v; want a gap of %v at least (in order of arrival: %t)", seed, name, a.trip, a.at, b.trip, b.at, delay, inOrder)
						}
					}
				}
			}
			closer(byHost, l.Delay, true)
			closer(byMachine, l.Within.Delay, false)
			for _, lim := range []*Limiter{l, l.Within, l.Within.Within} {
				if s := lim.Stats(); s.Waiting+s.InFlight != 0 {
					t.Errorf("seed %d: after all trips: %+v, want none waiting or in flight", seed, s)
				}
			}
		})
	}
}
