package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

func TestFleetInMemory(t *testing.T) {
	runSuite(t, func(t *testing.T) func() suiteMember {
		m := new(memory)
		return func() suiteMember {
			l := &link{memory: m}
			f, err := newFleet(l, "{test}", Options{Lease: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			return suiteMember{f, l.sever}
		}
	}, synctest.Test)
}

// A suiteMember is the Fleet of one process.
type suiteMember struct {
	*Fleet
	Cut func(cut bool) // cuts the member off from its server, or connects it again; may be nil
}

// runSuite checks that Limiters whose Fleets have one kind of engine keep one
// pace. make() creates an empty fleet whose Lease
// is 5 s, and uses t.Cleanup to clean up. It returns join(), which adds a
// member to this fleet with each call. in() runs a test in fake time. If in is
// nil, the tests run in real time, side by side.
//
// The tests judge the times at which the Limiters decide to start requests. All
// Limiters use this process's clock, so the times are right even if a busy
// machine runs a goroutine late. If a test limits how long something may take,
// the limit is extended by the time for which the machine stood still. If the
// machine stood still for a quarter of a test's time or more, the test accepts
// fewer requests than the pace allows.
func runSuite(t *testing.T, make func(t *testing.T) (join func() suiteMember), in func(t *testing.T, test func(t *testing.T))) {
	run := func(t *testing.T, test func(*suite)) {
		f := &suite{T: t, join: make(t), real: in == nil}
		defer f.close()
		if f.real {
			defer f.noteStalls()()
		}
		test(f)
	}
	for _, test := range suiteTests {
		t.Run(test.name, func(t *testing.T) {
			if in == nil {
				t.Parallel()
				run(t, test.run)
				return
			}
			in(t, func(t *testing.T) { run(t, test.run) })
		})
	}
}

const (
	suitePace  = 100 * time.Millisecond
	suiteLease = 5 * time.Second
	tolerance  = time.Millisecond
	quick      = 500 * time.Millisecond // the time allowed for a few ms of work on a busy machine
)

var suiteTests = []struct {
	name string
	run  func(*suite)
}{
	{"one member paces as if alone", func(f *suite) {
		a := f.peer(&politeness.Limiter{Delay: suitePace})
		f.crawl(a, 1, 5)
		f.wait()
		f.paced(suitePace)
		f.ended(a)
	}},
	{"members take turns at one host, and keep its pace", func(f *suite) {
		members, requests := []*peer{}, 40
		if f.real {
			requests = 20 // each of two workers makes 20 requests: enough for two turns of 2 s per member
		}
		for range 3 {
			m := f.peer(&politeness.Limiter{Delay: suitePace})
			members = append(members, m)
			f.crawl(m, 2, requests)
		}
		f.wait()
		f.paced(suitePace)
		first, last := f.starts[0].at, f.starts[len(f.starts)-1].at
		if share := float64(len(f.starts)-1) * float64(suitePace) / float64(last.Sub(first)); share < 0.85 && f.stalled() < last.Sub(first)/4 {
			f.Errorf("%.2f of the pace was used", share)
		}
		longest := time.Duration(0)
		for i := range members {
			since := first
			for _, s := range f.starts {
				if s.peer == i {
					longest = max(longest, s.at.Sub(since))
					since = s.at
				}
			}
			if members[i].handedOver.Load() == 0 {
				f.Errorf("member %d has handed nothing over", i)
			}
		}
		if most := 2*2*2*time.Second + quick + f.stalled(); longest > most { // two turns of 2 s for each of the two other members
			f.Errorf("a member waited for %v", longest)
		}
	}},
	{"hosts do not wait for each other", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: time.Hour}), f.peer(&politeness.Limiter{Delay: time.Hour})
		f.start(a, "warm.example") // in its first 2 s, a new fleet gives no host away
		began := time.Now()
		for i := range 20 {
			f.start(a, fmt.Sprintf("a%d.example", i))
			f.start(b, fmt.Sprintf("b%d.example", i))
		}
		if took := time.Since(began); took > 4*quick+f.stalled() {
			f.Errorf("the first requests to 40 hosts took %v", took)
		}
	}},
	{"an owner that has nothing to do hands over at once, and what is due", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: 2 * quick}), f.peer(&politeness.Limiter{Delay: 2 * quick})
		f.start(a, host)
		f.start(b, host)
		f.start(a, host)
		f.paced(2 * quick)
		if took := f.starts[2].at.Sub(f.starts[0].at); took > 5*quick+f.stalled() {
			f.Errorf("three starts took %v, want %v", took, 4*quick)
		}
	}},
	{"nothing is in flight at two members", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace / 10}), f.peer(&politeness.Limiter{Delay: suitePace / 10})
		g := f.acquire(a, context.Background(), host)
		done := time.Now()
		time.AfterFunc(4*time.Second, func() { done = time.Now(); g.Done(ok) })
		f.start(b, host)
		if at := f.starts[1].at; at.Before(done) {
			f.Errorf("the other started %v before the end", done.Sub(at))
		}
	}},
	{"a Crawl-delay is handed over, and a lower one too", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace}), f.peer(&politeness.Limiter{Delay: suitePace})
		f.acquire(a, politeness.WithCrawlDelay(context.Background(), 10*suitePace), host).Done(ok)
		f.start(b, host) // this request of b names no Crawl-delay
		f.paced(10 * suitePace)
		f.acquire(b, politeness.WithCrawlDelay(context.Background(), 0), host).Done(ok)
		f.start(a, host) // member a was given the longer Crawl-delay; the fleet tells it the shorter one
		if got := f.starts[3].at.Sub(f.starts[2].at); got > 8*suitePace+f.stalled() {
			f.Errorf("the lowered Crawl-delay is not kept: %v", got)
		}
	}},
	{"robots.txt is fetched before the Crawl-delay is over, by whomever", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace}), f.peer(&politeness.Limiter{Delay: suitePace})
		f.acquire(a, politeness.WithCrawlDelay(context.Background(), 20*suitePace), host).Done(ok)
		f.acquire(b, politeness.WithCrawlDelay(context.Background(), politeness.Exempt), host).Done(ok)
		f.start(b, host)
		if got := f.starts[1].at.Sub(f.starts[0].at); got < suitePace-tolerance || got > 10*suitePace+f.stalled() {
			f.Errorf("robots.txt after %v", got)
		}
		if got := f.starts[2].at.Sub(f.starts[0].at); got < 20*suitePace-tolerance {
			f.Errorf("the next page after %v", got)
		}
	}},
	{"a 429 to one member stops all", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace}), f.peer(&politeness.Limiter{Delay: suitePace})
		g := f.acquire(a, context.Background(), host)
		g.Done(politeness.Outcome{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}})
		refused := time.Now()
		f.start(b, host)
		if got := time.Since(refused); got < 3*time.Second-tolerance || got > 3*time.Second+2*quick+f.stalled() {
			f.Errorf("the other started %v after the 429", got)
		}
	}},
	{"back-off goes on doubling at another member", func(f *suite) {
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: suitePace, BackOff: time.Second, MaxBackOff: time.Hour}
		}
		for range 2 {
			m := f.peer(limiter())
			f.acquire(m, context.Background(), host).Done(politeness.Outcome{Status: http.StatusTooManyRequests})
		}
		f.start(f.peer(limiter()), host)
		if got := f.starts[1].at.Sub(f.starts[0].at); got < time.Second-tolerance {
			f.Errorf("the first pause was %v", got)
		}
		if got := f.starts[2].at.Sub(f.starts[1].at); got < 2*time.Second-tolerance {
			f.Errorf("the second pause was %v", got)
		}
	}},
	{"a second 503 in a row is one, whoever hears it", func(f *suite) {
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: suitePace, BackOff: 3 * time.Second}
		}
		for range 2 {
			f.acquire(f.peer(limiter()), context.Background(), host).Done(politeness.Outcome{Status: http.StatusServiceUnavailable})
		}
		f.start(f.peer(limiter()), host)
		if got := f.starts[1].at.Sub(f.starts[0].at); got > 2*time.Second+f.stalled() {
			f.Errorf("after the first: %v", got)
		}
		if got := f.starts[2].at.Sub(f.starts[1].at); got < 3*time.Second-tolerance {
			f.Errorf("after the second: %v", got)
		}
	}},
	{"a caller that does not wait is refused, and finds the host when it comes again", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace, MaxWait: -1}), f.peer(&politeness.Limiter{Delay: suitePace})
		f.start(b, host)
		stop := make(chan struct{})
		f.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f.start(b, host)
				}
			}
		})
		defer close(stop)
		for began := time.Now(); ; {
			g, err := a.limiter.Acquire(context.Background(), page(host))
			if err == nil {
				g.Done(ok)
				return
			}
			delay, is := errors.AsType[*politeness.DelayError](err)
			if !is || time.Since(began) > 20*time.Second {
				f.Errorf("%v after %v", err, time.Since(began))
				return
			}
			time.Sleep(min(max(time.Until(delay.Until), suitePace/10), 2*time.Second))
		}
	}},
	{"one who cannot wait for another's turn is told whose host it is", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace}), f.peer(&politeness.Limiter{Delay: suitePace})
		g := f.acquire(a, context.Background(), host)
		defer g.Done(ok)
		// On a busy machine, b needs a second to hear who owns the host.
		ctx, cancel := context.WithTimeout(context.Background(), 6*quick)
		defer cancel()
		_, err := b.limiter.Acquire(ctx, page(host))
		delay, is := errors.AsType[*politeness.DelayError](err)
		if !is || delay.Err == nil || !delay.Until.After(time.Now()) {
			f.Errorf("%v, want a DelayError with the reason and a time to come", err)
		}
		if s := b.limiter.Stats(); s.Waiting != 0 {
			f.Errorf("%+v", s)
		}
	}},
	{"a member that is closed leaves its hosts to others at once", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace}), f.peer(&politeness.Limiter{Delay: suitePace})
		f.crawl(a, 1, 5)
		f.wait()
		if err := a.Close(); err != nil {
			f.Error(err)
		}
		began := time.Now()
		f.start(b, host)
		if took := time.Since(began); took > suitePace+quick+f.stalled() {
			f.Errorf("the next start came %v after Close", took)
		}
		ctx, cancel := context.WithTimeout(context.Background(), quick)
		defer cancel()
		if _, err := a.limiter.Acquire(ctx, page("other.example")); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("a closed member: %v", err)
		}
	}},
	{"two Limiters do not share a member", func(f *suite) {
		a := f.peer(&politeness.Limiter{Delay: suitePace})
		g := f.acquire(a, context.Background(), host)
		defer g.Done(ok)
		ctx, cancel := context.WithTimeout(context.Background(), quick)
		defer cancel()
		second := &politeness.Limiter{Delay: suitePace, Fleet: a.Fleet}
		if _, err := second.Acquire(ctx, page(host)); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("%v, want a refusal", err)
		}
	}},
	{"a Budget is that of all members together", func(f *suite) {
		f.notAtMidnight()
		const requests = 50
		total := atomic.Int32{}
		for range 3 {
			m := f.peer(&politeness.Limiter{Delay: suitePace, Budget: politeness.Budget{Requests: requests}})
			f.Go(func() { total.Add(int32(f.spend(m))) })
		}
		f.wait()
		f.paced(suitePace)
		if n := total.Load(); n != requests {
			f.Errorf("%d requests of a Budget of %d", n, requests)
		}
	}},
	{"what is not used of a Budget is handed over", func(f *suite) {
		f.notAtMidnight()
		const requests = 320
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: -1, Budget: politeness.Budget{Requests: requests}}
		}
		a, b := f.peer(limiter()), f.peer(limiter())
		f.crawl(a, 1, 5)
		f.wait()
		time.Sleep(quick) // so that member a gives up the host
		if err := a.Close(); err != nil {
			f.Error(err)
		}
		if n := f.spend(b); n != requests-5 {
			f.Errorf("%d requests, want %d", n, requests-5)
		}
	}},
	{"a member that is cut off stops after its lease, and others go on", func(f *suite) {
		a, b := f.peer(&politeness.Limiter{Delay: suitePace}), f.peer(&politeness.Limiter{Delay: suitePace})
		if a.Cut == nil {
			f.Skip("the engine cannot part a member from it")
		}
		f.start(a, host)
		stop, stopped := context.WithCancel(context.Background())
		for _, m := range []*peer{a, b} {
			f.Go(func() {
				for stop.Err() == nil {
					if g, err := m.limiter.Acquire(f.traced(stop, m), page(host)); err == nil {
						g.Done(ok)
					}
				}
			})
		}
		time.Sleep(2700 * time.Millisecond) // in the middle of a turn
		owner := a
		if f.latest() == b.number {
			owner = b
		}
		cut := time.Now()
		owner.Cut(true)
		time.Sleep(3 * suiteLease)
		owner.Cut(false)
		mended := time.Now()
		time.Sleep(suiteLease)
		stopped()
		f.wait()
		f.paced(suitePace)
		silent := time.Duration(0)
		served := make(map[int]bool)
		for i, s := range f.starts {
			if s.at.Before(cut) {
				continue
			}
			silent = max(silent, s.at.Sub(f.starts[i-1].at))
			if s.peer == owner.number && s.at.After(cut.Add(suiteLease)) && s.at.Before(mended) {
				f.Errorf("the member that is cut off started a request %v later", s.at.Sub(cut))
			}
			if s.at.After(mended) {
				served[s.peer] = true
			}
		}
		if silent > suiteLease*5/2 {
			f.Errorf("nothing started for %v, want %v at most", silent, suiteLease*5/2)
		}
		if len(served) < 2 {
			f.Errorf("after the mending, only %v were served", served)
		}
		if owner.lost.Load() == 0 {
			f.Error("nobody says that it has lost the host")
		}
	}},
	{"a 429 with a short Retry-After, to a request that was in flight, does not replace the delay", func(f *suite) {
		// Member b waits, so a gives the host away after 2 s. Member b gives it
		// back at once when it no longer waits, because the host is not due for
		// long. Then the request of a ends with a 429.
		slowly := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: 40 * time.Second, Concurrency: 2}
		}
		a, b, c := f.peer(slowly()), f.peer(slowly()), f.peer(slowly())
		slow := f.acquire(a, context.Background(), host)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(4*time.Second, cancel)
		if _, err := b.limiter.Acquire(ctx, page(host)); !errors.Is(err, context.Canceled) {
			f.Errorf("member 1: %v, want no start in 4 s", err)
		}
		time.Sleep(2 * quick)
		slow.Done(tooMany("1"))
		time.Sleep(2 * quick)
		f.refused(c, host, 3*time.Second, 30*time.Second)
	}},
	{"a 429 with a short Retry-After, to a request that was in flight, does not shorten another member's pause", func(f *suite) {
		a, b, c := f.peer(twoAtOnce()), f.peer(twoAtOnce()), f.peer(twoAtOnce())
		slow := f.acquire(a, context.Background(), host)
		f.acquire(b, context.Background(), host).Done(tooMany("60"))
		time.Sleep(2 * quick) // b gives the host back, because the pause is long
		slow.Done(tooMany("1"))
		time.Sleep(2 * quick)
		f.refused(c, host, 3*time.Second, 50*time.Second)
	}},
	{"a 429 to a request that was in flight counts although the host was no longer stored", func(f *suite) {
		a, b, c := f.peer(twoAtOnce()), f.peer(twoAtOnce()), f.peer(twoAtOnce())
		slow := f.acquire(a, context.Background(), host)
		f.start(b, host) // b gives the host back when it is due
		f.forget(c)
		slow.Done(tooMany("60"))
		time.Sleep(2 * quick)
		f.refused(c, host, 3*time.Second, 50*time.Second)
	}},
	{"a request in flight counts although its host was not used for long", func(f *suite) {
		a, b, c := f.peer(twoAtOnce()), f.peer(twoAtOnce()), f.peer(twoAtOnce())
		slow := f.acquire(a, context.Background(), host)
		f.start(b, host)
		f.forget(c)
		f.acquire(c, context.Background(), host)
		time.AfterFunc(2*time.Second, func() { slow.Done(ok) })
		began := time.Now()
		f.start(c, host)
		if took := time.Since(began); took < 2*time.Second-tolerance {
			f.Errorf("the next owner starts a third request %v after it began to wait, want 2 s", took)
		}
	}},
}

// fleet is the state of one test.
type suite struct {
	*testing.T
	join func() suiteMember
	real bool // the test runs in real time
	sync.WaitGroup

	mu      sync.Mutex
	members []*peer
	starts  []started

	late atomic.Int64 // how long the machine has stood still, in nanoseconds
}

type started struct {
	at   time.Time
	peer int
}

type peer struct {
	suiteMember
	number  int
	limiter *politeness.Limiter

	handedOver, lost atomic.Int32
}

const host = "shop.example"

var ok = politeness.Outcome{Status: http.StatusOK}

func twoAtOnce() *politeness.Limiter {
	return &politeness.Limiter{Delay: suitePace, Concurrency: 2}
}

// tooMany returns the outcome of a request that the server has refused.
func tooMany(retryAfter string) politeness.Outcome {
	return politeness.Outcome{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {retryAfter}}}
}

func page(host string) *url.URL { return &url.URL{Scheme: "http", Host: host, Path: "/"} }

func (f *suite) peer(l *politeness.Limiter) *peer {
	m := &peer{suiteMember: f.join(), number: len(f.members), limiter: l}
	f.members = append(f.members, m)
	l.Fleet = m.Fleet
	l.Observer = &politeness.Observer{
		HandedOver: func(context.Context, politeness.Event) { m.handedOver.Add(1) },
		Lost:       func(context.Context, politeness.Event) { m.lost.Add(1) },
	}
	return m
}

// traced returns a context for one request of m. The request's start is noted
// in f.starts.
func (f *suite) traced(ctx context.Context, m *peer) context.Context {
	return politeness.WithTrace(ctx, &politeness.Trace{Granted: func(at time.Time) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.starts = append(f.starts, started{at, m.number})
	}})
}

// noteStalls starts a goroutine that sleeps again and again. If it wakes too
// late, it adds the delay to f.late. noteStalls returns a function that ends
// the goroutine.
func (f *suite) noteStalls() (stop func()) {
	const tick = 5 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			before := time.Now()
			time.Sleep(tick)
			if late := time.Since(before) - tick; late > tick {
				f.late.Add(int64(late))
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// stalled returns how long the machine has stood still in all. In fake time it
// returns zero.
func (f *suite) stalled() time.Duration { return time.Duration(f.late.Load()) }

func (f *suite) latest() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.starts[len(f.starts)-1].peer
}

func (f *suite) acquire(m *peer, ctx context.Context, host string) *politeness.Grant {
	f.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	g, err := m.limiter.Acquire(f.traced(ctx, m), page(host))
	if err != nil {
		f.Errorf("member %d: %v", m.number, err)
	}
	return g
}

func (f *suite) start(m *peer, host string) {
	f.Helper()
	f.acquire(m, context.Background(), host).Done(ok)
}

// refused checks that m starts no request to a host within the given time, and
// cannot start one earlier than until.
func (f *suite) refused(m *peer, host string, within, until time.Duration) {
	f.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	g, err := m.limiter.Acquire(f.traced(ctx, m), page(host))
	if err == nil {
		g.Done(ok)
		f.Errorf("member %d starts a request after %v", m.number, time.Since(began))
		return
	}
	delay, is := errors.AsType[*politeness.DelayError](err)
	if !is || delay.Until.Before(began.Add(until)) {
		f.Errorf("member %d: %v, want a start in %v or later", m.number, err, until)
	}
}

// forget waits until the fleet need not store the host any longer. Then m uses
// other hosts, with which the fleet removes such hosts.
func (f *suite) forget(m *peer) {
	f.Helper()
	time.Sleep(4 * time.Second)
	for i := range 20 {
		f.start(m, fmt.Sprintf("h%d.example", i))
	}
}

// crawl() starts workers for the member m. Each worker makes n requests.
func (f *suite) crawl(m *peer, workers, n int) {
	for range workers {
		f.Go(func() {
			for range n {
				f.start(m, host)
			}
		})
	}
}

// spend makes requests until the Budget of the host is spent, and returns how
// many requests it made.
func (f *suite) spend(m *peer) (n int) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		g, err := m.limiter.Acquire(f.traced(ctx, m), page(host))
		cancel()
		if err != nil {
			delay, is := errors.AsType[*politeness.DelayError](err)
			if !is || delay.Reason != politeness.ReasonBudget || time.Until(delay.Until) > 24*time.Hour {
				f.Errorf("member %d: %v, want a spent budget", m.number, err)
			}
			return n
		}
		n++
		g.Done(ok)
	}
}

// notAtMidnight skips the test if the UTC day ends within two minutes. The test
// would fail if the day changed while it runs.
func (f *suite) notAtMidnight() {
	if now := time.Now().UTC(); now.Add(2*time.Minute).YearDay() != now.YearDay() {
		f.Skip("it is midnight in UTC: the day's budget is another one soon")
	}
}

// close() waits for the workers and closes all members.
func (f *suite) close() {
	f.Wait()
	for _, m := range f.members {
		m.Close()
	}
}

func (f *suite) wait() { f.Wait(); f.sort() }

func (f *suite) sort() {
	slices.SortFunc(f.starts, func(a, b started) int { return a.at.Compare(b.at) })
}

// paced checks that all starts are at least an interval apart.
func (f *suite) paced(interval time.Duration) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sort()
	for i := 1; i < len(f.starts); i++ {
		a, b := f.starts[i-1], f.starts[i]
		if gap := b.at.Sub(a.at); gap < interval-tolerance {
			f.Errorf("member %d started %v after member %d, want %v", b.peer, gap, a.peer, interval)
		}
	}
}

// ended() waits until the Limiter of m holds no host and no request. The test
// fails if this takes more than 20 s.
func (f *suite) ended(m *peer) {
	f.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(suitePace) {
		s := m.limiter.Stats()
		m.Fleet.mu.Lock()
		over := m.Fleet.done == nil // its session has ended, so it has no host
		m.Fleet.mu.Unlock()
		if over && s.Waiting == 0 && s.InFlight == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.Errorf("it holds something still: %+v", s)
			return
		}
	}
}
