package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// unfinishedFiles serves robots.txt files. It sends the first 490 KB of each
// immediately, and the rest after a delay, or never.
type unfinishedFiles struct {
	rest      func(host string) time.Duration // 0 means never
	read      atomic.Int64                    // bytes of bodies that are not closed yet
	requested sync.Map                        // host to *atomic.Int64, the number of its requests
}

func (w *unfinishedFiles) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/robots.txt" {
		return newResponse(r, 200, "page"), nil
	}
	n, _ := w.requested.LoadOrStore(r.URL.Host, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	begin := strings.NewReader("User-agent: *\nDisallow: /private/\n" + strings.Repeat("#", 490_000))
	resp := newResponse(r, 200, "")
	resp.ContentLength = -1
	resp.Body = &unfinishedBody{web: w, request: r, begin: begin}
	return resp, nil
}

func (w *unfinishedFiles) requests(host string) int64 {
	n, ok := w.requested.Load(host)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

type unfinishedBody struct {
	web     *unfinishedFiles
	request *http.Request
	begin   io.Reader
	read    int64
}

func (b *unfinishedBody) Read(p []byte) (int, error) {
	if n, err := b.begin.Read(p); err == nil {
		b.read += int64(n)
		b.web.read.Add(int64(n))
		return n, nil
	}
	var after <-chan time.Time
	if d := b.web.rest(b.request.URL.Host); d > 0 {
		after = time.After(d)
	}
	select {
	case <-after:
		return 0, io.EOF
	case <-b.request.Context().Done():
		return 0, context.Cause(b.request.Context())
	}
}

func (b *unfinishedBody) Close() error {
	b.web.read.Add(-b.read)
	b.read = 0
	return nil
}

// checkWithin returns the result of Check with the timeout d.
func checkWithin(t testing.TB, c *Checker, url string, d time.Duration) (Decision, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return c.Check(ctx, mustURL(t, url))
}

// A worker checks a URL of each of 1,500 hosts with a deadline of 20 ms. All
// hosts send 490 KB of their robots.txt, and never send the rest. The fetches
// continue after the deadline, but together their bodies take no more than
// MaxBytes.
func TestBodies_OfFetchesThatNoCallerWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 16 << 20
		web := &unfinishedFiles{rest: func(string) time.Duration { return 0 }}
		c := newTestTransport(t, web, func(o *Options) { o.MaxBytes = limit }).Checker()
		var most, mostCounted int64
		for i := range 1500 {
			if _, err := checkWithin(t, c, fmt.Sprintf("http://h%d.example/", i), 20*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Check of h%d.example returned error %v, want DeadlineExceeded", i, err)
			}
			synctest.Wait()
			most = max(most, web.read.Load())
			mostCounted = max(mostCounted, c.Stats().Bytes)
		}
		if most > limit || mostCounted > limit || mostCounted < most {
			t.Errorf("unfinished bodies took %d bytes, of which %d were counted; want all of them counted, and at most %d",
				most, mostCounted, limit)
		}
		if most < limit/4 {
			t.Errorf("unfinished bodies took only %d bytes, want %d at least: fetches were canceled unnecessarily", most, limit/4)
		}
		time.Sleep(time.Hour)
		if n := web.read.Load(); n != 0 {
			t.Errorf("bodies with %d bytes are open after an hour, want none", n)
		}
	})
}

// 40 callers wait for files whose last byte takes ten seconds. Together, the
// files are larger than MaxBytes. No fetch is canceled, and each caller gets a
// decision.
func TestBodies_OfFetchesWithCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &unfinishedFiles{rest: func(string) time.Duration { return 10 * time.Second }}
		c := newTestTransport(t, web, func(o *Options) { o.MaxBytes = 1 << 20 }).Checker()
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				u := fmt.Sprintf("http://h%d.example/private/", i)
				if d, err := checkWithin(t, c, u, time.Minute); err != nil || d.Reason != ByRule || d.Allowed {
					t.Errorf("%s: got %v, %v; want disallowed by a rule", u, d, err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d > 11*time.Second {
			t.Errorf("the last caller waited for %v, want at most 11s", d)
		}
		for i := range 40 {
			if n := web.requests(fmt.Sprintf("h%d.example", i)); n != 1 {
				t.Errorf("h%d.example received %d requests, want 1", i, n)
			}
		}
	})
}

// A fetch that was canceled because of memory has no result. The next caller
// gets the file with a new fetch, the slot of the host is free, and a record
// from before the fetch is still in memory.
func TestBodies_NothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		web := &unfinishedFiles{rest: func(string) time.Duration {
			if slow.Load() {
				return 20 * time.Second
			}
			return time.Millisecond
		}}
		c := newTestTransport(t, web, func(o *Options) {
			o.MaxBytes = 1 << 20
			o.Limiter = &politeness.Limiter{Delay: time.Second}
		}).Checker()
		if _, err := checkWithin(t, c, "http://known.example/", time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Hour) // its refresh is due
		slow.Store(true)
		if d, err := checkWithin(t, c, "http://known.example/", 20*time.Millisecond); err != nil || !d.Allowed {
			t.Fatalf("got %v and error %v; want allowed", d, err)
		}
		for i := range 10 {
			checkWithin(t, c, fmt.Sprintf("http://h%d.example/", i), 20*time.Millisecond)
		}
		synctest.Wait()
		if most := web.read.Load(); most > 1<<20 {
			t.Errorf("%d bytes of bodies are open, want at most 1 MiB", most)
		}
		for _, host := range []string{"known", "h0", "h1", "h9"} {
			u := fmt.Sprintf("http://%s.example/private/", host)
			if d, err := checkWithin(t, c, u, time.Minute); err != nil || d.Reason != ByRule || d.Allowed {
				t.Errorf("%s: got %v, %v; want disallowed by a rule", u, d, err)
			}
		}
		time.Sleep(time.Minute)
		if n := web.requests("h0.example"); n != 2 {
			t.Errorf("h0.example received %d requests, want 2", n)
		}
		if s := c.Stats(); s.Bytes > 1<<20 {
			t.Errorf("Stats().Bytes = %d, want at most %d", s.Bytes, 1<<20)
		}
	})
}

// If a fetch is canceled because of memory, Asked receives the request and the
// cause. Fetched is not called, because the origin does not count as
// unreachable.
func TestBodies_AskedHasTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var causes []error
		fetched := 0
		web := &unfinishedFiles{rest: func(string) time.Duration { return 0 }}
		c := newTestTransport(t, web, func(o *Options) {
			o.MaxBytes = 1 << 20
			o.Observer = &Observer{
				Asked: func(_ context.Context, _ string, _ *http.Response, body []byte, err error) {
					mu.Lock()
					defer mu.Unlock()
					causes = append(causes, err)
				},
				Fetched: func(context.Context, Fetch) {
					mu.Lock()
					defer mu.Unlock()
					fetched++
				},
			}
		}).Checker()
		for i := range 2 {
			checkWithin(t, c, fmt.Sprintf("http://h%d.example/", i), 20*time.Millisecond)
		}
		synctest.Wait()
		mu.Lock()
		if len(causes) != 1 || !strings.Contains(fmt.Sprint(causes[0]), "too much memory") || fetched != 0 {
			t.Errorf("Asked received the errors %v, want one about memory; Fetched was called %d times, want 0",
				causes, fetched)
		}
		mu.Unlock()
		time.Sleep(time.Minute) // the other fetch ends
	})
}

// Bot protection responds slowly to a refresh, with status 403, and the refresh
// is canceled in the middle of the body because memory is short. The part that
// was read has no indicator of bot protection, but it must not count as a
// missing file: the good copy stays in force.
func TestBodies_EndedRefreshKeepsTheGoodCopy(t *testing.T) {
	const challenge = "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={cvId:'3'};</script></body></html>"
	synctest.Test(t, func(t *testing.T) {
		slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, "<!DOCTYPE html>")
			w.(http.Flusher).Flush()
			time.Sleep(2 * time.Second)
			io.WriteString(w, challenge)
		})
		file, other := new(switchable), new(switchable)
		file.set(robots("User-agent: *\nDisallow: /private\n"))
		other.set(robots("User-agent: *\nDisallow: /x\n"))
		web := new(robotstest.Internet)
		web.Handle("a.example", file)
		for i := range 3 {
			web.Handle(fmt.Sprintf("o%d.example", i), other)
		}
		c := newTestTransport(t, web, func(o *Options) { o.MaxBytes = 100 << 10 }).Checker()
		decide(t, c, "http://a.example/private")
		for i := range 3 {
			decide(t, c, fmt.Sprintf("http://o%d.example/", i))
		}
		time.Sleep(23 * time.Hour)
		file.set(slow)
		other.set(slow)
		decide(t, c, "http://a.example/private") // begins the refresh
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		for i := range 3 {
			decide(t, c, fmt.Sprintf("http://o%d.example/", i))
		}
		time.Sleep(10 * time.Second)
		if d := decide(t, c, "http://a.example/private"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
		time.Sleep(time.Minute)
	})
}

// A Check whose context has ended uses what is in memory, and begins no fetch,
// although the record is due for a refresh.
func TestCheck_EndedContextBeginsNoRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("a.example", robots("User-agent: *\nDisallow: /no\n"))
		c := newTestTransport(t, web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(23 * time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d, err := c.Check(ctx, mustURL(t, "http://a.example/no"))
		synctest.Wait()
		if n := robotsFetches(web, ""); d.Allowed || err != nil || n != 1 {
			t.Errorf("got %v, error %v and %d fetches of robots.txt; want disallowed, no error and 1", d, err, n)
		}
	})
}

// A program reuses its request for another page after it has closed the body of
// the first. DecisionOf still returns the decision about the first.
func TestDecisionOf_ReusedRequest(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("a.example", robots("User-agent: *\nDisallow: /no\n"))
	tr := newTestTransport(t, web)
	req, err := http.NewRequest(http.MethodGet, "http://a.example/yes", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	req.URL.Path = "/no"
	if d := DecisionOf(resp.Request.Context()); d == nil || !d.Allowed || d.URL.Path != "/yes" {
		t.Errorf("the decision is %v, want one that allows /yes", d)
	}
}
