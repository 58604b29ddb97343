package politeness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newDay is when the first day of a synctest bubble ends. A bubble begins at
// midnight UTC.
var newDay = time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)

// crawlUntilSpent makes requests until one is rejected, and returns how many
// started. The error must have the reason that the Budget is spent.
func crawlUntilSpent(t *testing.T, l *politeness.Limiter, o politeness.Outcome) (n int) {
	t.Helper()
	for {
		g, err := l.Acquire(t.Context(), shop)
		if err != nil {
			delay, ok := errors.AsType[*politeness.DelayError](err)
			if end := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour); !ok || delay.Reason != "budget" || delay.Host != "shop.example" || !delay.Until.Equal(end) || delay.Err != nil {
				t.Fatalf("Acquire: error %v (%+v), want a DelayError for shop.example with Reason %q until %v and no Err", err, delay, "budget", end)
			}
			return n
		}
		n++
		g.Done(o)
	}
}

func TestBudget_Requests(t *testing.T) {
	for _, requests := range []int64{1, 7, 100} {
		synctest.Test(t, func(t *testing.T) {
			l := &politeness.Limiter{Budget: politeness.Budget{Requests: requests}}
			for range 2 {
				if n := crawlUntilSpent(t, l, ok); n != int(requests) {
					t.Errorf("%d requests started in a day, want %d", n, requests)
				}
				if next, end := l.Next(shop), time.Now().UTC().Truncate(24*time.Hour).Add(24*time.Hour); !next.Equal(end) {
					t.Errorf("with a spent Budget, Next is %v, want %v, the end of the day", next, end)
				}
				if _, err := l.Acquire(t.Context(), &url.URL{Host: "other.example"}); err != nil {
					t.Errorf("Acquire of another host: error %v, want none, because that host has its own Budget", err)
				}
				time.Sleep(time.Until(l.Next(shop)))
			}
		})
	}
}

// When an earlier request uses up the Budget, the queued requests are rejected.
func TestBudget_Queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{Budget: politeness.Budget{Requests: 5}, Concurrency: 3}
		var mu sync.Mutex
		started, rejected := 0, 0
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				g, err := l.Acquire(t.Context(), shop)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					started++
					time.AfterFunc(time.Second, func() { g.Done(ok) })
				} else {
					rejected++
				}
			})
		}
		wg.Wait()
		if started != 5 || rejected != 15 || time.Since(newDay.Add(-24*time.Hour)) > 10*time.Second {
			t.Errorf("%d requests started and %d were rejected in %v, want 5 and 15 in at most 10s", started, rejected, time.Since(newDay.Add(-24*time.Hour)))
		}
		if s := l.Stats(); s.Waiting != 0 {
			t.Errorf("Stats() = %+v, want none waiting", s)
		}
	})
}

// A fetch of robots.txt counts as a request, but is made even if the Budget is
// spent.
func TestBudget_Exempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{Budget: politeness.Budget{Requests: 5}}
		robots := func() {
			t.Helper()
			g, err := l.Acquire(politeness.WithCrawlDelay(t.Context(), politeness.Exempt), shop)
			if err != nil {
				t.Fatal(err)
			}
			g.Done(ok)
		}
		robots()
		robots()
		if n := crawlUntilSpent(t, l, ok); n != 3 {
			t.Errorf("after two requests for robots.txt, %d pages were requested, want 3", n)
		}
		robots()
		if n := crawlUntilSpent(t, l, ok); n != 0 {
			t.Errorf("%d pages were requested after the Budget was spent, want 0", n)
		}
	})
}

// Budget.Bytes counts the bytes of bodies as Base returns them. A body is read
// to its end even if it goes beyond the Budget.
func TestBudget_Bytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := bytes.Repeat([]byte("x"), 1000)
		client := &http.Client{Transport: &politeness.Transport{
			Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(body)), Request: r, Header: make(http.Header)}, nil
			}),
			Limiter: &politeness.Limiter{Budget: politeness.Budget{Bytes: 4500}},
		}}
		total := 0
		for {
			resp, err := client.Get("http://shop.example/")
			if err != nil {
				if delay, ok := errors.AsType[*politeness.DelayError](err); !ok || delay.Reason != "budget" || !delay.Until.Equal(newDay) {
					t.Error(err)
				}
				break
			}
			n, err := io.Copy(io.Discard, resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			total += int(n)
			resp.Body.Close()
		}
		if total != 5000 {
			t.Errorf("the bodies have %d bytes together, want 5000, because one body may exceed the Budget", total)
		}
	})
}

// In a fleet, the count of a host's Budget moves with the host to its next
// owner. The fleet stores each reservation before requests use it. If the first
// owner leaves part of its last reservation unused, the next owner gets that
// part too. That part is lost only if the host's last state is lost.
func TestBudget_Fleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := politeness.Budget{Requests: 320}
		f := newFleetTest(t, &politeness.Limiter{Budget: b})
		f.request(t.Context(), shop)
		h := f.fleet.claim(t)
		h.Own(fleet.Record{})
		f.started() // nothing starts, because the fleet has not stored the reservation yet
		if f.fleet.claim(t) != h {
			t.Fatal("Look is not called for the same Claim, although the Limiter has a reservation to store")
		}
		kept, over := h.Give(false)
		if over || kept.State == nil || kept.Keep < time.Hour {
			t.Fatalf("Give = %v, %t; want a State to keep for at least an hour, false", kept, over)
		}
		h.Own(kept)
		f.started(0)
		f.done()
		for range 3 {
			f.request(t.Context(), shop)
			time.Sleep(time.Second)
			f.done()
		}
		if n := len(f.fleet.lookedAt()); n != 0 {
			t.Errorf("while the reservation lasts, Look is called %d more times, want 0", n)
		}
		time.Sleep(time.Minute)
		left := give(t, h, false, true)

		for name, tt := range map[string]struct {
			state []byte
			want  int
		}{"given": {left, 316}, "lost": {kept.State, 310}} {
			l := &politeness.Limiter{Delay: -1, Budget: b}
			f := newFleetTest(t, l)
			stop := make(chan struct{})
			go func() { // this goroutine answers the Limiter as redislimit does
				owned := false
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
					for _, h := range f.fleet.lookedAt() {
						if !owned {
							owned = true
							h.Own(fleet.Record{State: tt.state})
						}
						if r, over := h.Give(false); !over {
							h.Own(fleet.Record{State: r.State})
						}
					}
				}
			}()
			if n := crawlUntilSpent(t, l, ok); n != tt.want {
				t.Errorf("%s: the next owner starts %d requests, want %d", name, n, tt.want)
			}
			close(stop)
		}
	})
}

// In this test, the fleet confirms yesterday's reservation after midnight. No
// request starts with that reservation: the Limiter waits until the fleet has
// confirmed a reservation for today.
func TestBudget_FleetAtMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Budget: politeness.Budget{Requests: 10}})
		time.Sleep(24*time.Hour - time.Second)
		f.request(t.Context(), shop)
		h := f.fleet.claim(t)
		h.Own(fleet.Record{})
		synctest.Wait()
		yesterday := give(t, h, false, false)
		if len(yesterday) == 0 {
			t.Fatal("Give returns no State, want one with the reservation")
		}
		time.Sleep(2 * time.Second)
		h.Own(fleet.Record{}) // the Limiter calls Look again, and makes a reservation for today
		synctest.Wait()
		h.Own(fleet.Record{State: yesterday})
		if starts, _ := f.seen(); len(starts) != 0 {
			t.Errorf("requests started at %v, want no start before the fleet stores the reservation", starts)
		}
		h.Own(fleet.Record{State: give(t, h, false, false)})
		if starts, _ := f.seen(); len(starts) != 1 {
			t.Errorf("requests started at %v, want one start", starts)
		}
		f.done()
	})
}

func TestBudget_ThatMakesNoSense(t *testing.T) {
	for name, l := range map[string]*politeness.Limiter{
		"Within": {Within: &politeness.Limiter{Budget: politeness.Budget{Requests: 1}}},
	} {
		if _, err := l.Acquire(t.Context(), shop); err == nil || !strings.Contains(err.Error(), "Budget") {
			t.Errorf("Acquire, %s: error %v, want one that mentions Budget", name, err)
		}
	}
}

func TestBudget_None(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{Delay: -1, Budget: politeness.Budget{Requests: -1, Bytes: -1}}
		for range 1000 {
			g, err := l.Acquire(t.Context(), shop)
			if err != nil {
				t.Fatal(err)
			}
			g.Done(politeness.Outcome{Status: 200})
		}
	})
}

// MaxHosts also limits how many hosts have a count for the day. A further host
// is rejected until the day is over.
func TestBudget_MaxHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{MaxHosts: 3, Budget: politeness.Budget{Requests: 2}}
		for i := range 4 {
			g, err := l.Acquire(t.Context(), &url.URL{Host: fmt.Sprintf("h%d.example", i)})
			g.Done(ok)
			time.Sleep(time.Minute)
			if delay, is := errors.AsType[*politeness.DelayError](err); (i == 3) != is || is && !delay.Until.Equal(newDay) {
				t.Errorf("Acquire of host %d: error %v, want a DelayError until %v for host 3 only", i, err, newDay)
			}
		}
	})
}

// MaxHosts leaves no room for the Budget of a fourth host. Next returns the end
// of the day for it, its robots.txt may be fetched, and its page is rejected at
// once, although the interval after the robots.txt is not over. No host is
// evicted for a page that is rejected: the first host keeps its Crawl-delay.
func TestBudget_MaxHostsRejectsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{MaxHosts: 3, Budget: politeness.Budget{Requests: 3}}
		hosts := make([]*url.URL, 4)
		ctx := politeness.WithCrawlDelay(t.Context(), 30*time.Second)
		for i := range hosts {
			hosts[i] = &url.URL{Scheme: "http", Host: fmt.Sprintf("h%d.example", i)}
			if i < 3 {
				g, err := l.Acquire(ctx, hosts[i])
				if err != nil {
					t.Fatal(err)
				}
				g.Done(ok)
			}
		}
		time.Sleep(time.Minute)
		if next := l.Next(hosts[3]); !next.Equal(newDay) {
			t.Errorf("the fourth host is due at %v, want the end of the day", next)
		}
		rejectsPage := func() {
			t.Helper()
			began := time.Now()
			_, err := l.Acquire(t.Context(), hosts[3])
			delay, is := errors.AsType[*politeness.DelayError](err)
			isRejected := is && delay.Reason == politeness.ReasonMaxHosts && delay.Until.Equal(newDay)
			if waited := time.Since(began); !isRejected || waited != 0 {
				t.Errorf("Acquire of a new host: error %v after %v, want a DelayError for MaxHosts at once", err, waited)
			}
		}
		rejectsPage()
		for _, u := range hosts[:3] {
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			g.Done(ok)
			if wait := time.Until(l.Next(u)); wait < 30*time.Second {
				t.Errorf("%s is due in %v, so the host was evicted; want at least 30s", u, wait)
			}
		}
		g, err := l.Acquire(politeness.WithCrawlDelay(t.Context(), politeness.Exempt), hosts[3])
		if err != nil {
			t.Fatal(err)
		}
		g.Done(ok)
		rejectsPage()
	})
}

// Each host gets three requests in a day. The fourth is rejected until the day
// is over in UTC.
func ExampleBudget() {
	page := &url.URL{Scheme: "http", Host: "example.com", Path: "/"}
	limiter := &politeness.Limiter{
		Delay:  -1,
		Budget: politeness.Budget{Requests: 3},
	}
	for n := range 4 {
		grant, err := limiter.Acquire(context.Background(), page)
		if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
			fmt.Printf("request %d: %s, retry at %s UTC\n",
				n+1, delay.Reason, delay.Until.UTC().Round(time.Second).Format(time.TimeOnly))
			return
		}
		grant.Done(politeness.Outcome{Status: http.StatusOK})
	}
	// Output: request 4: budget, retry at 00:00:00 UTC
}
