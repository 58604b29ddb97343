package politeness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// In each test of this file, something goes wrong between a crawler and a host,
// and must not harm the crawl.

func retryIn(seconds string) http.Header { return http.Header{"Retry-After": {seconds}} }

// Ten requests are in flight and fifty are queued when the host answers 429.
// None of the fifty starts before the pause is over, and the ten refusals are
// one incident.
func TestFailure429WithFiftyQueuedAndTenInFlight(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		least  time.Duration // the least time from the refusals to the next start
		most   time.Duration
	}{
		{"with Retry-After", retryIn("120"), 120 * time.Second, 120 * time.Second},
		{"without", nil, 5 * time.Second, 5500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Delay: 10 * time.Millisecond, Concurrency: 10}
				u := mustURL(t, "http://example.com/")
				var flying []*Grant
				for range 10 {
					g, err := l.Acquire(t.Context(), u)
					if err != nil {
						t.Fatal(err)
					}
					flying = append(flying, g)
				}
				var (
					mu     sync.Mutex
					starts []time.Time
					wg     sync.WaitGroup
				)
				for range 50 {
					wg.Go(func() {
						g, err := l.Acquire(t.Context(), u)
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						starts = append(starts, time.Now())
						mu.Unlock()
						g.Done(Outcome{Status: 200})
					})
				}
				synctest.Wait()
				said := time.Now()
				for _, g := range flying {
					g.Done(Outcome{Status: 429, Header: tt.header})
				}
				if s := l.Stats(); paused(l) != 1 || s.Waiting != 50 || s.InFlight != 0 {
					t.Errorf("after the refusals: %+v, %d paused", s, paused(l))
				}
				wg.Wait()
				if first := starts[0].Sub(said); first < tt.least || first > tt.most {
					t.Errorf("the next started %v after the 429, want %v to %v", first, tt.least, tt.most)
				}
				for i := 1; i < len(starts); i++ {
					if gap := starts[i].Sub(starts[i-1]); gap != 10*time.Millisecond {
						t.Errorf("gap %d is %v", i, gap)
					}
				}
			})
		})
	}
}

// The pause doubles with each incident, up to MaxBackOff. Each good answer
// undoes one step, unless its request started before the latest incident.
func TestFailureEscalationAndRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: -1, Concurrency: 2, BackOff: 8 * time.Second, MaxBackOff: 60 * time.Second}
		u := mustURL(t, "http://example.com/")
		pause := func(status int) time.Duration {
			t.Helper()
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			g.Done(Outcome{Status: status, Latency: time.Millisecond})
			return time.Until(l.Next(u))
		}
		steps := []struct {
			status      int
			least, most time.Duration
		}{
			{429, 8 * time.Second, 8800 * time.Millisecond},
			{429, 16 * time.Second, 17600 * time.Millisecond},
			{429, 32 * time.Second, 35200 * time.Millisecond},
			{429, 60 * time.Second, 60 * time.Second},
			{200, 0, 0}, // the level falls to 3
			{404, 0, 0}, // the level falls to 2
			{500, 0, 0}, // a 500 changes nothing
			{200, 0, 0}, // the level falls to 1
			{429, 16 * time.Second, 17600 * time.Millisecond},
		}
		for i, s := range steps {
			if got := pause(s.status); got < s.least || got > s.most {
				t.Errorf("step %d: status %d paused for %v, want %v to %v", i, s.status, got, s.least, s.most)
			}
		}

		old, _ := l.Acquire(t.Context(), u)
		time.Sleep(time.Millisecond)
		if got := pause(503); got < 32*time.Second || got > 36*time.Second {
			t.Errorf("the third level is %v", got)
		}
		old.Done(Outcome{Status: 200}) // this request started before the 503, so its 200 does not count
		if got := pause(429); got != 60*time.Second {
			t.Errorf("the fourth level is %v", got)
		}
	})
}

func TestFailureRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const date = "Sat, 21 Nov 2026 12:00:00 GMT"
	tests := []struct {
		name, value, date string
		want              time.Duration // 0 means no usable Retry-After
	}{
		{"seconds", "120", "", 2 * time.Minute},
		{"seconds in blanks and quotes", ` "30" `, "", 30 * time.Second},
		{"zero asks for nothing", "0", "", 0},
		{"negative", "-1", "", 0},
		{"signed", "+5", "", 0},
		{"a fraction is rounded up", "1.5", "", 2 * time.Second},
		{"the name of a zone", "Sat, 21 Nov 2026 13:05:00 CET", date, 5 * time.Minute},
		{"several values", "60, Sat, 21 Nov 2026 12:05:00 GMT", date, 5 * time.Minute},
		{"a duration", "5m0s", "", 5 * time.Minute},
		{"seconds since 1970", strconv.FormatInt(now.Add(5*time.Minute).Unix(), 10), "", 5 * time.Minute},
		{"no number", "soon", "", 0},
		{"empty", "", "", 0},
		{"wraps around in nanoseconds", "9223372037", "", schedule.Unlimited / time.Second * time.Second},
		{"wraps around in 64 bits", "18446744073709551617", "", schedule.Unlimited / time.Second * time.Second},
		{"a hundred digits", strings.Repeat("9", 100), "", schedule.Unlimited / time.Second * time.Second},
		{"IMF-fixdate", "Sat, 21 Nov 2026 12:05:00 GMT", date, 5 * time.Minute},
		{"RFC 850", "Saturday, 21-Nov-26 12:05:00 GMT", date, 5 * time.Minute},
		{"asctime", "Sat Nov 21 12:05:00 2026", date, 5 * time.Minute},
		{"numeric zone", "Sat, 21 Nov 2026 13:05:00 +0100", date, 5 * time.Minute},
		{"without a zone is UTC", "Sat, 21 Nov 2026 12:05:00", date, 5 * time.Minute},
		{"RFC 3339", "2026-11-21T12:05:00Z", date, 5 * time.Minute},
		{"ISO without a zone", "2026-11-21 12:05:00", date, 5 * time.Minute},
		{"past", "Sat, 21 Nov 2026 11:59:00 GMT", date, 0},
		{"RFC 850 of the last century", "Sunday, 06-Nov-94 08:49:37 GMT", date, 0},
		{"without Date, by our clock", "Sat, 21 Nov 2026 12:05:00 GMT", "", 5 * time.Minute},
		{"the server's clock is an hour fast", "Sat, 21 Nov 2026 13:05:00 GMT", "Sat, 21 Nov 2026 13:00:00 GMT", 5 * time.Minute},
		{"the server's clock is an hour slow", "Sat, 21 Nov 2026 11:05:00 GMT", "Sat, 21 Nov 2026 11:00:00 GMT", 5 * time.Minute},
		{"an unreadable Date", "Sat, 21 Nov 2026 12:05:00 GMT", "today", 5 * time.Minute},
		{"the year 9999", "Fri, 31 Dec 9999 23:59:59 GMT", date, schedule.Unlimited},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{"Retry-After": {tt.value}}
			if tt.date != "" {
				h.Set("Date", tt.date)
			}
			got, ok := RetryAfter(h, now)
			if got != tt.want || ok != (tt.want > 0) {
				t.Errorf("%v, %v; want %v", got, ok, tt.want)
			}
		})
	}
	if got, _ := RetryAfter(http.Header{"Retry-After": {"5", "60", "x"}}, now); got != time.Minute {
		t.Errorf("of several, %v; want the longest", got)
	}
}

func TestFailureRetryAfterIsCapped(t *testing.T) {
	for _, tt := range []struct {
		max, want time.Duration
	}{{0, 24 * time.Hour}, {time.Hour, time.Hour}, {-1, schedule.Unlimited / time.Second * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{MaxRetryAfter: tt.max}
			u := mustURL(t, "http://example.com/")
			g, _ := l.Acquire(t.Context(), u)
			g.Done(Outcome{Status: 503, Header: retryIn("99999999999")})
			if got := time.Until(l.Next(u)); got != tt.want {
				t.Errorf("MaxRetryAfter %v: %v, want %v", tt.max, got, tt.want)
			}
		})
	}
}

// If a pause would outlast the deadline of a waiting request, the request is
// refused at once. A request that can wait is told its new start time.
func TestFailureBackOffRefusesWaitersWhoCannotMakeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		g, _ := l.Acquire(t.Context(), u)
		zero := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := l.Acquire(ctx, u)
				if d, ok := errors.AsType[*DelayError](err); !ok || d.Until.Before(zero.Add(time.Hour)) {
					t.Errorf("error %v, want a DelayError for the hour", err)
				}
				if time.Since(zero) != time.Second {
					t.Errorf("it came after %v, not at once", time.Since(zero))
				}
			})
		}
		var untils []time.Duration
		wg.Go(func() {
			ctx := WithTrace(t.Context(), &Trace{Queued: func(until time.Time, _ Reason) { untils = append(untils, until.Sub(zero)) }})
			g, err := l.Acquire(ctx, u)
			if err != nil || time.Since(zero) < time.Hour {
				t.Errorf("the patient one: %v after %v", err, time.Since(zero))
			}
			g.Done(Outcome{})
		})
		time.Sleep(time.Second)
		g.Done(Outcome{Status: 429, Header: retryIn("3600")})
		wg.Wait()
		if n := len(untils); n < 2 || untils[n-1] != time.Hour+time.Second {
			t.Errorf("the patient one was told %v", untils)
		}
	})
}

func TestFailureCancelledWaiterLeavesNoHole(t *testing.T) {
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

func TestFailureCancelledWithACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		l.Acquire(t.Context(), u)
		cause := errors.New("enough pages")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := l.Acquire(ctx, u); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestFailureDoneFromEverywhere(t *testing.T) {
	var n tally
	l := &Limiter{Delay: -1, Concurrency: 4, Observer: n.observer()}
	u := mustURL(t, "http://example.com/")
	for range 200 {
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { g.Done(Outcome{Status: 200, Latency: 1}) })
		}
		wg.Wait()
	}
	if s := l.Stats(); s.InFlight != 0 || n.granted.Load() != 200 {
		t.Errorf("%+v, %v", s, &n)
	}
	(*Grant)(nil).Done(Outcome{})
	new(Grant).Done(Outcome{})
}

// A Grant without Done frees its slot when its lease is over. A late Done does
// not free the slot of a later request.
func TestFailureLeaseOfAGrantThatWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Lease: time.Minute}
		u := mustURL(t, "http://example.com/")
		lost, _ := l.Acquire(t.Context(), u)
		zero := time.Now()
		g, err := l.Acquire(t.Context(), u)
		if err != nil || time.Since(zero) != time.Minute {
			t.Fatalf("%v after %v, want the lease's minute", err, time.Since(zero))
		}
		lost.Done(Outcome{Status: 429, Header: retryIn("3600")})
		if s := l.Stats(); s.InFlight != 1 {
			t.Errorf("%+v", s)
		}
		g.Done(Outcome{})
		if wait := time.Until(l.Next(u)); wait != time.Hour {
			t.Errorf("a late 429 still counts: next in %v, want 1h", wait)
		}
	})
}

// A crawl asks up to a million hosts, one after the other. The Limiter
// remembers a paused host, however many hosts come after it. It forgets the
// hosts whose interval is over.
func TestFailureChurnOfAMillionHosts(t *testing.T) {
	n := 1_000_000
	if testing.Short() || testmain.RaceEnabled {
		n = 50_000
	}
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 5000}
		penalty := mustURL(t, "http://backed-off.example/")
		g, _ := l.Acquire(t.Context(), penalty)
		g.Done(Outcome{Status: 503, Header: retryIn("80000")})
		until := l.Next(penalty)
		routines := runtime.NumGoroutine()
		u := mustURL(t, "http://h.example/")
		for i := range n {
			u.Host = fmt.Sprintf("h%d.example", i)
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatalf("host %d: %v", i, err)
			}
			g.Done(Outcome{Status: 200})
			if i%4000 == 0 {
				time.Sleep(time.Second)
				if s := l.Stats(); s.Hosts > 5000 {
					t.Fatalf("%d hosts remembered", s.Hosts)
				}
			}
		}
		if got := l.Next(penalty); !got.Equal(until) {
			t.Errorf("the back-off ends %v, want %v", got, until)
		}
		if now := runtime.NumGoroutine(); now > routines {
			t.Errorf("%d goroutines, %d before", now, routines)
		}
	})
}

// paused returns how many hosts are in a pause because of their answers.
func paused(l *Limiter) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for h := range l.hosts.All() {
		if h.Learned != nil && h.Learned.PauseEnd > l.now() {
			n++
		}
	}
	return n
}

// One domain has any number of hosts that all ask for a day's pause. They never
// hold more than nine tenths of the places, so what is known about other hosts
// stays, and no new host is refused.
func TestFullOfPausedHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n tally
		l := &Limiter{MaxHosts: 100, Observer: n.observer()}
		ask := func(host string, o Outcome) {
			t.Helper()
			ctx := WithCrawlDelay(t.Context(), 5*time.Second)
			g, err := l.Acquire(ctx, &url.URL{Host: host})
			if err != nil {
				t.Fatalf("%s: %v", host, err)
			}
			g.Done(o)
		}
		for i := range 10 {
			ask(fmt.Sprintf("honest%d.example", i), Outcome{Status: 200})
		}
		for i := range 1000 {
			time.Sleep(10 * time.Second)
			ask(fmt.Sprintf("h%d.owner.example", i), Outcome{Status: 429, Header: retryIn("86400")})
			if i%10 == 0 { // the others are in use
				ask(fmt.Sprintf("honest%d.example", i/10%10), Outcome{Status: 200})
			}
		}
		for i := range 10 {
			if l.hosts.Get(fmt.Sprintf("honest%d.example", i)) == nil {
				t.Errorf("honest%d.example was forgotten", i)
			}
		}
		if s, k := l.Stats(), paused(l); s.Hosts > 100 || k < 80 || k > 90 || n.rejected.Load() != 0 {
			t.Errorf("%+v, %d paused, %v", s, k, &n)
		}
	})
}

// Four hosts with an adaptive delay are used one after the other, but only
// three are remembered. The host that was used first is evicted, and the others
// keep their delays.
func TestMaxHosts_LeastRecentlyUsed(t *testing.T) {
	for again, want := range map[string]time.Duration{"a.example": time.Second, "b.example": 5 * time.Second, "c.example": 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var delay time.Duration
			l := &Limiter{MaxHosts: 3, Adaptive: 5, Observer: &Observer{
				Granted: func(_ context.Context, e Event) { delay = e.Delay },
			}}
			for _, host := range []string{"a.example", "b.example", "c.example", "d.example", again} {
				g, err := l.Acquire(t.Context(), &url.URL{Host: host})
				if err != nil {
					t.Fatal(err)
				}
				g.Done(Outcome{Status: 200, Latency: time.Second})
				time.Sleep(10 * time.Second)
			}
			if delay != want {
				t.Errorf("the delay of %s is %v, want %v", again, delay, want)
			}
		})
	}
}

// A host within its interval is never forgotten, or it would be asked too soon.
// If all are within their interval, there are more than MaxHosts for a while.
func TestFullOfHostsWithinTheirInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 10}
		for i := range 50 {
			g, err := l.Acquire(t.Context(), hostURL(i))
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{Status: 200})
		}
		for i := range 50 {
			if wait := time.Until(l.Next(hostURL(i))); wait != time.Second {
				t.Errorf("host %d may be asked in %v", i, wait)
			}
		}
		for i := range 50 {
			time.Sleep(time.Second)
			g, _ := l.Acquire(t.Context(), hostURL(50+i))
			g.Done(Outcome{Status: 200})
		}
		if s := l.Stats(); s.Hosts > 10 {
			t.Errorf("%+v", s)
		}
	})
}

// One domain has any number of hosts that ask for a Crawl-delay of years. They
// are not all remembered, and do not hide other hosts.
func TestFullOfHostsWithLongCrawlDelays(t *testing.T) {
	for _, most := range []time.Duration{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{MaxHosts: 100, MaxCrawlDelay: most}
			ask := func(host string, crawl time.Duration) {
				t.Helper()
				g, err := l.Acquire(WithCrawlDelay(t.Context(), crawl), &url.URL{Host: host})
				if err != nil {
					t.Fatal(err)
				}
				g.Done(Outcome{Status: 200})
			}
			ask("first.example", 1e9*time.Second)
			if wait := time.Until(l.Next(mustURL(t, "http://first.example/"))); wait != 1e9*time.Second {
				t.Errorf("due in %v", wait)
			}
			for i := range 1000 {
				ask(fmt.Sprintf("h%d.owner.example", i), 1e9*time.Second)
				time.Sleep(100 * time.Second)
				if i%10 == 0 { // the others are in use
					ask(fmt.Sprintf("honest%d.example", i/10%10), 5*time.Second)
				}
			}
			for i := range 10 {
				if l.hosts.Get(fmt.Sprintf("honest%d.example", i)) == nil {
					t.Errorf("honest%d.example was forgotten", i)
				}
			}
			if s := l.Stats(); s.Hosts < 90 || s.Hosts > 110 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Two origins of a host have different Crawl-delays. The host is not forgotten
// when the shorter one is over, or the other origin would be asked too soon.
func TestShorterCrawlDelayOfAnotherOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, l := range map[string]*Limiter{"": {}, "EndToStart": {EndToStart: true}, "MaxHosts": {MaxHosts: 1}} {
			u := mustURL(t, "http://two.example/")
			slow := WithCrawlDelay(t.Context(), 30*time.Second)
			for _, ctx := range []context.Context{slow, WithCrawlDelay(t.Context(), 0)} {
				g, err := l.Acquire(ctx, u)
				if err != nil {
					t.Fatal(err)
				}
				g.Done(Outcome{Status: 200})
			}
			start := time.Now()
			for i := range 5 { // new hosts, for which others are forgotten
				time.Sleep(2 * time.Second)
				g, _ := l.Acquire(t.Context(), hostURL(i))
				g.Done(Outcome{Status: 200})
			}
			l.mu.Lock()
			s, _ := l.hosts.Get("two.example").Export(l.now(), true)
			l.mu.Unlock()
			if !s.HasCrawlDelayStart {
				t.Errorf("%s: the next owner is not told", name)
			}
			g, err := l.Acquire(slow, u)
			if err != nil || time.Since(start) != 30*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
			g.Done(Outcome{})
			time.Sleep(time.Hour)
			for i := range 5 {
				g, _ := l.Acquire(t.Context(), hostURL(i+5))
				g.Done(Outcome{Status: 200})
				time.Sleep(time.Minute)
			}
			if l.MaxHosts == 1 && l.hosts.Get("two.example") != nil {
				t.Errorf("%s: it is remembered for ever", name)
			}
		}
	})
}

// A request whose Done is never called does not keep its host for ever.
func TestFullOfAbandonedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 10, Lease: time.Minute}
		for i := range 500 {
			if _, err := l.Acquire(t.Context(), hostURL(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		if s := l.Stats(); s.Hosts > 25 {
			t.Errorf("%+v", s)
		}
	})
}

// A key may be a piece of a URL of megabytes. What is kept of it is a copy.
func TestKeysAreCopies(t *testing.T) {
	l := &Limiter{Delay: -1, Budget: Budget{Requests: 10}}
	raw := "http://long.example/" + strings.Repeat("x", 1<<20)
	u := mustURL(t, raw)
	isPiece := func(s string) bool {
		at := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.StringData(raw)))
		return at < uintptr(len(raw))
	}
	if !isPiece(u.Host) {
		t.Fatal("the URL is a copy already")
	}
	g, err := l.Acquire(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	g.Done(Outcome{Status: 200})
	for h := range l.hosts.All() {
		if isPiece(h.Key) {
			t.Errorf("the key of %s keeps %d bytes", h.Key, len(raw))
		}
	}
	c := &addressCache{lookUp: func(context.Context, string) ([]netip.Addr, error) { return nil, nil }}
	c.key(t.Context(), u)
	for key, a := range c.known {
		if isPiece(key) || isPiece(a.key) {
			t.Errorf("the address of %s keeps %d bytes", key, len(raw))
		}
	}
}

// Hosts are forgotten after their interval, even if there is room for them, and
// even if hosts that were asked before them are paused for a day.
func TestFailureHostsAreForgottenBehindALongBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		for i := range 10_000 {
			g, err := l.Acquire(t.Context(), hostURL(i))
			if err != nil {
				t.Fatal(err)
			}
			if i < 5 {
				g.Done(Outcome{Status: 429, Header: retryIn("86400")})
			}
			g.Done(Outcome{Status: 200})
			time.Sleep(10 * time.Millisecond) // so a hundred hosts are in their interval at any moment
		}
		if s := l.Stats(); s.Hosts > 200 || paused(l) != 5 {
			t.Errorf("%+v, %d paused, want the hundred hosts of the last second and the five that back off", s, paused(l))
		}
	})
}

// A late refusal counts even if the Limiter has forgotten the host meanwhile.
func TestFailureLate429OfAForgottenHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 1, Lease: time.Second}
		a, b := mustURL(t, "http://a.example/"), mustURL(t, "http://b.example/")
		lost, _ := l.Acquire(t.Context(), a)
		time.Sleep(time.Minute)
		g, err := l.Acquire(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		time.Sleep(time.Minute)
		lost.Done(Outcome{Status: 429, Header: retryIn("3600")})
		if wait := time.Until(l.Next(a)); wait != time.Hour {
			t.Errorf("next in %v, want 1h", wait)
		}
	})
}

// With EndToStart, a slow request may end so late that a waiting request would
// miss its deadline. The waiting request is then refused at once.
func TestFailureEndOfASlowRequestRefusesAtOnce(t *testing.T) {
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
			t.Errorf("%v after %v", err, time.Since(zero))
		}
	})
}

func TestFailureNextForgetsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 1}
		known := mustURL(t, "http://known.example/")
		g, _ := l.Acquire(WithCrawlDelay(t.Context(), 10*time.Second), known)
		g.Done(Outcome{})
		time.Sleep(time.Minute)
		if wait := time.Until(l.Next(mustURL(t, "http://new.example/"))); wait != 0 {
			t.Errorf("there is room in %v, want at once", wait)
		}
		if l.hosts.Get("known.example") == nil {
			t.Error("it was forgotten")
		}
	})
}
