package politeness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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

// crawlUntilSpent makes requests until one is refused, and returns how many
// started. The refusal has to say that the Budget is spent.
func crawlUntilSpent(t *testing.T, l *politeness.Limiter, o politeness.Outcome) (n int) {
	t.Helper()
	for {
		g, err := l.Acquire(t.Context(), shop)
		if err != nil {
			delay, ok := errors.AsType[*politeness.DelayError](err)
			if end := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour); !ok || delay.Reason != "budget" || delay.Host != "shop.example" || !delay.Until.Equal(end) || delay.Err != nil {
				t.Fatalf("%v (%+v), want a spent budget until %v", err, delay, end)
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
					t.Errorf("%d requests in a day, want %d", n, requests)
				}
				if next, end := l.Next(shop), time.Now().UTC().Truncate(24*time.Hour).Add(24*time.Hour); !next.Equal(end) {
					t.Errorf("the next is due at %v, want %v", next, end)
				}
				if _, err := l.Acquire(t.Context(), &url.URL{Host: "other.example"}); err != nil {
					t.Error("another host pays: ", err)
				}
				time.Sleep(time.Until(l.Next(shop)))
			}
		})
	}
}

// When an earlier request uses up the Budget, the queued requests are refused.
func TestBudget_Queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{Budget: politeness.Budget{Requests: 5}, Concurrency: 3}
		var mu sync.Mutex
		started, refused := 0, 0
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
					refused++
				}
			})
		}
		wg.Wait()
		if started != 5 || refused != 15 || time.Since(newDay.Add(-24*time.Hour)) > 10*time.Second {
			t.Errorf("%d started, %d refused, by %v", started, refused, time.Now())
		}
		if s := l.Stats(); s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A fetch of robots.txt counts as a request, but is made even if the Budget is
// spent.
func TestBudget_Exempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, dir := range []string{"", t.TempDir()} {
			l := &politeness.Limiter{Budget: politeness.Budget{Requests: 5, Dir: dir}}
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
				t.Errorf("after two robots.txt %d pages, want 3", n)
			}
			robots()
			if n := crawlUntilSpent(t, l, ok); n != 0 {
				t.Errorf("%d pages after it was spent", n)
			}
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
			t.Errorf("%d bytes, want 5,000: one body may exceed the budget", total)
		}
	})
}

// A directory keeps the count for the next run. If a process is killed, at most
// the block that it has reserved is wasted.
func TestBudget_Dir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := politeness.Budget{Requests: 320, Dir: filepath.Join(t.TempDir(), "budget")}
		n := 0
		for range 20 { // each run stops before its block of 10 requests is used up
			l := &politeness.Limiter{Delay: -1, Budget: b}
			for range 7 {
				g, err := l.Acquire(t.Context(), shop)
				if err != nil {
					t.Fatal(err)
				}
				g.Done(ok)
				n++
			}
		}
		n += crawlUntilSpent(t, &politeness.Limiter{Delay: -1, Budget: b}, ok)
		if n > 320 || n < 320-20*10 {
			t.Errorf("%d requests in 21 runs, want 320, less a block for each", n)
		}
		time.Sleep(time.Until(newDay))
		last := &politeness.Limiter{Delay: -1, Budget: b}
		if n := crawlUntilSpent(t, last, ok); n != 320 {
			t.Errorf("%d requests on the next day", n)
		}
		for range 3 {
			time.Sleep(24 * time.Hour)
			if _, err := last.Acquire(t.Context(), shop); err != nil {
				t.Error(err)
			}
		}
		if files, _ := os.ReadDir(b.Dir); len(files) != 2 {
			t.Errorf("%d days are kept", len(files))
		}
	})
}

// The next run knows how many bytes a body took beyond the reservation.
func TestBudget_DirKnowsTheOvershoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := politeness.Budget{Bytes: 1000, Dir: t.TempDir()}
		crawl := func(size int) (pages int, err error) {
			tr := &politeness.Transport{Limiter: &politeness.Limiter{Budget: b}, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(make([]byte, size))), Request: r}, nil
			})}
			for pages < 2 {
				resp, err := tr.RoundTrip(&http.Request{URL: shop})
				if err != nil {
					return pages, err
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				pages++
			}
			return pages, nil
		}
		if _, err := crawl(495); err != nil {
			t.Fatal(err)
		}
		if n, err := crawl(100); n > 1 || err == nil {
			t.Errorf("%d requests with 10 bytes left: %v", n, err)
		}
	})
}

// A writer that is interrupted may leave a malformed line. Malformed lines take
// nothing from the Budget.
func TestBudget_DirWithABrokenEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := politeness.Budget{Requests: 10, Dir: t.TempDir()}
		name := filepath.Join(b.Dir, "2000-01-01.budget")
		if err := os.WriteFile(name, []byte("\n4 0 \"shop.example\"\nnonsense\n-1 0 \"shop.example\"\n3 0 \"shop.exa"), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := crawlUntilSpent(t, &politeness.Limiter{Budget: b}, ok); n != 6 {
			t.Errorf("%d requests, want 6", n)
		}
		text, err := os.ReadFile(name)
		if err != nil || strings.Count(string(text), "\n1 0 ") < 6 {
			t.Errorf("%v:\n%s", err, text)
		}
	})
}

// If the directory cannot be written, requests are refused, because they would
// not be counted. The error says why. But robots.txt is fetched.
func TestBudget_DirThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var logged bytes.Buffer
		l := &politeness.Limiter{Budget: politeness.Budget{Requests: 10, Dir: name}, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
		for range 3 {
			_, err := l.Acquire(t.Context(), shop)
			delay, is := errors.AsType[*politeness.DelayError](err)
			if _, wrapped := errors.AsType[*os.PathError](err); !is || !wrapped || delay.Reason != "budget" || time.Until(delay.Until) > time.Minute {
				t.Errorf("%v", err)
			}
			g, err := l.Acquire(politeness.WithCrawlDelay(t.Context(), politeness.Exempt), shop)
			if err != nil {
				t.Error(err)
			}
			g.Done(ok)
			time.Sleep(10 * time.Second)
		}
		if n := strings.Count(logged.String(), "cannot be kept"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, &logged)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if n := crawlUntilSpent(t, l, ok); n < 5 {
			t.Errorf("%d requests once it can be written", n)
		}
	})
}

// In a fleet, the count of a host's Budget moves with the host to its next
// owner. The fleet stores each claim before requests use it. If the first owner
// leaves part of its last claim unused, the next owner gets that part too. That
// part is lost only if the host's last state is lost.
func TestBudget_Fleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := politeness.Budget{Requests: 320}
		f := newFleetTest(t, &politeness.Limiter{Budget: b})
		f.ask(t.Context(), shop)
		h := f.fleet.one(t)
		h.Own(fleet.Record{})
		f.started() // nothing starts, because the fleet has not stored the claim yet
		if f.fleet.one(t) != h {
			t.Fatal("it is not told")
		}
		kept, over := h.Give(false)
		if over || kept.State == nil || kept.Keep < time.Hour {
			t.Fatalf("%v, %t", kept, over)
		}
		h.Own(kept)
		f.started(0)
		f.done()
		for range 3 {
			f.ask(t.Context(), shop)
			time.Sleep(time.Second)
			f.done()
		}
		if n := len(f.fleet.looks()); n != 0 {
			t.Errorf("%d more asks within a block", n)
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
					for _, h := range f.fleet.looks() {
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
				t.Errorf("%s: the next owner has %d requests, want %d", name, n, tt.want)
			}
			close(stop)
		}
	})
}

// In this test, the fleet confirms yesterday's claim after midnight. That claim
// starts no request: the Limiter waits until the fleet has confirmed a claim
// for today.
func TestBudget_FleetAtMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Budget: politeness.Budget{Requests: 10}})
		time.Sleep(24*time.Hour - time.Second)
		f.ask(t.Context(), shop)
		h := f.fleet.one(t)
		h.Own(fleet.Record{})
		synctest.Wait()
		yesterday := give(t, h, false, false)
		if len(yesterday) == 0 {
			t.Fatal("there is no claim")
		}
		time.Sleep(2 * time.Second)
		h.Own(fleet.Record{}) // the Limiter looks again, and makes a claim for today
		synctest.Wait()
		h.Own(fleet.Record{State: yesterday})
		if starts, _ := f.seen(); len(starts) != 0 {
			t.Errorf("started at %v, before the fleet knew", starts)
		}
		h.Own(fleet.Record{State: give(t, h, false, false)})
		if starts, _ := f.seen(); len(starts) != 1 {
			t.Errorf("started at %v", starts)
		}
		f.done()
	})
}

func TestBudget_ThatMakesNoSense(t *testing.T) {
	for name, l := range map[string]*politeness.Limiter{
		"Dir without a Budget": {Budget: politeness.Budget{Dir: "x"}},
		"Dir with a Fleet":     {Budget: politeness.Budget{Requests: 1, Dir: "x"}, Fleet: new(handFleet)},
		"Within":               {Within: &politeness.Limiter{Budget: politeness.Budget{Requests: 1}}},
	} {
		if _, err := l.Acquire(t.Context(), shop); err == nil || !strings.Contains(err.Error(), "Budget") {
			t.Errorf("%s: %v", name, err)
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
// is refused until the day is over.
func TestBudget_MaxHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{MaxHosts: 3, Budget: politeness.Budget{Requests: 2}}
		for i := range 4 {
			g, err := l.Acquire(t.Context(), &url.URL{Host: fmt.Sprintf("h%d.example", i)})
			g.Done(ok)
			time.Sleep(time.Minute)
			if delay, is := errors.AsType[*politeness.DelayError](err); (i == 3) != is || is && !delay.Until.Equal(newDay) {
				t.Errorf("host %d: %v", i, err)
			}
		}
	})
}

// With Budget.Dir, a Limiter keeps the count in a directory. So a crawl that is
// restarted may use only what is left of the day's Budget.
func ExampleBudget() {
	dir, err := os.MkdirTemp("", "budget")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	page := &url.URL{Scheme: "http", Host: "example.com", Path: "/"}
	for run := range 3 {
		limiter := &politeness.Limiter{
			Delay:  -1,
			Budget: politeness.Budget{Requests: 10, Dir: dir},
		}
		for n := range 4 {
			grant, err := limiter.Acquire(context.Background(), page)
			if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
				fmt.Printf("run %d, request %d: %s, ask again at %s UTC\n",
					run, n, delay.Reason, delay.Until.UTC().Round(time.Second).Format(time.TimeOnly))
				return
			}
			grant.Done(politeness.Outcome{Status: http.StatusOK})
		}
	}
	// Output: run 2, request 2: budget, ask again at 00:00:00 UTC
}
