package politeness

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// fields() returns a header with the given lines, such as "RateLimit: x".
func fields(lines ...string) http.Header {
	h := make(http.Header)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

const day = 24 * time.Hour

// quotaServer accepts as many requests as its quota in each window. It counts
// the requests beyond its quota and answers them with 429.
type quotaServer struct {
	quota  int
	window time.Duration
	took   time.Duration // how long each request takes
	write  func(h http.Header, quota, left int, reset time.Duration)

	mu           sync.Mutex
	ends         time.Time
	used, beyond int
}

func (s *quotaServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	now := time.Now()
	if !now.Before(s.ends) {
		s.ends, s.used = now.Add(s.window), 0
	}
	if s.used++; s.used > s.quota {
		s.beyond++
	}
	s.write(w.Header(), s.quota, max(0, s.quota-s.used), s.ends.Sub(now))
	over := s.used > s.quota
	s.mu.Unlock()
	time.Sleep(s.took)
	if over {
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// A server that declares its quota, in any of the forms, never receives more
// requests than its quota. One case is left out: several requests at a time to
// a server that declares its quota only when the quota is spent. The crawl
// takes at most about three times as long as the quota demands.
func TestQuotasAreKept(t *testing.T) {
	up := func(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
	down := func(d time.Duration) int64 { return int64(d.Seconds()) }
	forms := map[string]func(h http.Header, quota, left int, reset time.Duration){
		"RateLimit": func(h http.Header, _, left int, reset time.Duration) {
			h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, left, up(reset)))
		},
		"RateLimit, rounded down, with its policy": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=60`, quota))
			h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, left, down(reset)))
		},
		"RateLimit without a time": func(h http.Header, quota, left int, _ time.Duration) {
			h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=60`, quota))
			h.Set("RateLimit", fmt.Sprintf(`"default";r=%d`, left))
		},
		"RateLimit-Policy alone": func(h http.Header, quota, _ int, _ time.Duration) {
			h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=60`, quota))
		},
		"RateLimit of version 07": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("RateLimit", fmt.Sprintf("limit=%d, remaining=%d, reset=%d", quota, left, up(reset)))
		},
		"RateLimit-Remaining": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("RateLimit-Limit", strconv.Itoa(quota))
			h.Set("RateLimit-Remaining", strconv.Itoa(left))
			h.Set("RateLimit-Reset", strconv.FormatInt(down(reset), 10))
		},
		"X-RateLimit, a delta": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
			h.Set("X-RateLimit-Reset", strconv.FormatInt(down(reset), 10))
		},
		"X-RateLimit, a time": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
			h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(reset).Unix(), 10))
		},
		"X-RateLimit, after": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
			h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", reset.Seconds()))
		},
		"only when it is spent": func(h http.Header, _, left int, reset time.Duration) {
			if left == 0 {
				h.Set("RateLimit", fmt.Sprintf(`"default";r=0;t=%d`, down(reset)))
			}
		},
	}
	for name, write := range forms {
		for _, limiter := range []*Limiter{
			{},
			{Delay: -1},
			{Delay: -1, Concurrency: 4},
			{Delay: 700 * time.Millisecond, EndToStart: true, Jitter: 0.3},
		} {
			if limiter.Concurrency > 1 && name == "only when it is spent" {
				continue // requests in flight learn too late that the quota is spent
			}
			t.Run(fmt.Sprintf("%s/%v/%d", name, limiter.Delay, limiter.Concurrency), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(27 * 365 * day) // to 2026: synctest begins in 2000, when a Unix time would be read as a delta
					const requests = 70
					server := &quotaServer{quota: 10, window: time.Minute, took: 900 * time.Millisecond, write: write}
					var web robotstest.Internet
					web.Handle("a.example", server)
					l := &Limiter{Delay: limiter.Delay, Concurrency: limiter.Concurrency, EndToStart: limiter.EndToStart, Jitter: limiter.Jitter}
					client := &http.Client{Transport: &Transport{Base: &web, Limiter: l}}
					start := time.Now()
					var wg sync.WaitGroup
					for range requests {
						wg.Go(func() {
							resp, err := client.Get("http://a.example/")
							if err != nil {
								t.Error(err)
								return
							}
							resp.Body.Close()
						})
					}
					wg.Wait()
					if server.beyond > 0 {
						t.Errorf("%d requests reached the server beyond its quota, want 0", server.beyond)
					}
					if took := time.Since(start); took < 6*time.Minute || took > 20*time.Minute {
						t.Errorf("the crawl took %v, want 6m to 20m", took)
					}
				})
			})
		}
	}
}

// This is TestQuotasAreKept in real time, over loopback, with one form from
// each of three families of fields.
func TestQuotasAreKept_Loopback(t *testing.T) {
	t.Parallel()
	up := func(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
	for name, write := range map[string]func(h http.Header, quota, left int, reset time.Duration){
		"RateLimit and RateLimit-Policy": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=2`, quota))
			h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, left, up(reset)))
		},
		"RateLimit-Remaining": func(h http.Header, quota, left int, reset time.Duration) {
			h.Set("RateLimit-Limit", strconv.Itoa(quota))
			h.Set("RateLimit-Remaining", strconv.Itoa(left))
			h.Set("RateLimit-Reset", strconv.FormatInt(up(reset), 10))
		},
		"X-RateLimit": func(h http.Header, _, left int, reset time.Duration) {
			h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
			h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(reset).Unix(), 10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &quotaServer{quota: 5, window: 2 * time.Second, write: write}
			web := httptest.NewServer(server)
			defer web.Close()
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			client := &http.Client{Transport: &Transport{Base: base, Limiter: &Limiter{Delay: -1}}}
			const requests = 7
			for range requests {
				resp, err := client.Get(web.URL)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("the response to a request has the status %s, want 200", resp.Status)
				}
			}
			if server.beyond > 0 {
				t.Errorf("%d of %d requests reached the server beyond its quota, want 0", server.beyond, requests)
			}
		})
	}
}

// afterAnswer makes a request to a.example. The answer has the given status and
// header lines. afterAnswer returns the Limiter.
func afterAnswer(t *testing.T, l *Limiter, status int, lines ...string) *Limiter {
	t.Helper()
	g, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
	if err != nil {
		t.Fatal(err)
	}
	g.Done(Outcome{Status: status, Header: fields(lines...)})
	return l
}

// next() returns the time until a request to a.example may start.
func next(t *testing.T, l *Limiter) time.Duration {
	return time.Until(l.Next(mustURL(t, "http://a.example/")))
}

func TestQuotasAndWhatElseSetsThePace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		lines  []string
		want   time.Duration
	}{
		{"a quota that is none", 200, []string{`RateLimit: "default";r=1000;t=30`}, time.Second},
		{"a quota that lasts", 200, []string{`RateLimit: "default";r=3;t=30`}, 10 * time.Second},
		{"a quota that is spent", 200, []string{`RateLimit: "default";r=0;t=30`}, 31 * time.Second},
		{"of a redirect", 302, []string{`RateLimit: "default";r=0;t=30`}, 31 * time.Second},
		{"of an error of the server's", 500, []string{`RateLimit: "default";r=0;t=30`}, 31 * time.Second},
		{"beyond the cap", 200, []string{`RateLimit: "default";r=0;t=999999`}, time.Hour},
		{"beyond the cap, not spent", 200, []string{`RateLimit: "default";r=2;t=999999`}, time.Hour},
		{"beyond the cap, with an interval below it", 200, []string{`RateLimit: "default";r=1000;t=999000`}, 999 * time.Second},
		{"malformed", 200, []string{`RateLimit: "default";r=0;t=`}, time.Second},
		{"Retry-After wins", 429, []string{"Retry-After: 7", `RateLimit: "default";r=0;t=30`}, 7 * time.Second},
		{"Retry-After wins with 503", 503, []string{"Retry-After: 7", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 30"}, 7 * time.Second},
		{"Retry-After wins with a redirect", 301, []string{"Retry-After: 7", `RateLimit: "default";r=0;t=30`}, 7 * time.Second},
		{"a Retry-After that is none does not", 429, []string{"Retry-After: soon", `RateLimit: "default";r=0;t=30`}, 31 * time.Second},
		{"a 429 without, the longer one counts", 429, []string{`RateLimit: "default";r=0;t=30`}, 31 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := afterAnswer(t, &Limiter{MaxRetryAfter: time.Hour}, tt.status, tt.lines...)
				if got := next(t, l); got != tt.want {
					t.Errorf("the next request is due in %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A quota may make the interval between requests longer, but never shorter. The
// interval is at least Delay. Until an earlier quota is renewed, the interval
// is also at least what that quota demands.
func TestQuotasOnlyLengthen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: 20 * time.Second}
		afterAnswer(t, l, 200, `RateLimit: "default";r=10;t=60`)
		if got := next(t, l); got != 20*time.Second {
			t.Errorf("the next request is due in %v, want the Delay of 20s", got)
		}
		l = &Limiter{Concurrency: -1, Delay: -1}
		afterAnswer(t, l, 200, `RateLimit: "default";r=2;t=60`)
		old, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/")) // this request starts after a wait of 30 s
		if err != nil {
			t.Fatal(err)
		}
		old.Done(Outcome{Status: 200, Header: fields(`RateLimit: "other";r=100;t=60`)})
		if got := next(t, l); got != 30*time.Second {
			t.Errorf("the next request is due in %v, want the 30s for which the stricter quota holds", got)
		}
		time.Sleep(30 * time.Second)
		afterAnswer(t, l, 200, `RateLimit: "other";r=60;t=60`)
		if got := next(t, l); got != time.Second {
			t.Errorf("the next request is due in %v, want 1s now that the stricter quota is renewed", got)
		}
		afterAnswer(t, l, 200)
		time.Sleep(time.Hour)
		if got := next(t, l); got > 0 {
			t.Errorf("an hour later, the next request is due in %v, want now", got)
		}
	})
}

// A wait for a quota has the Reason "rate limit". A request whose wait would be
// too long is rejected.
func TestQuotaIsAReason(t *testing.T) {
	for _, line := range []string{`RateLimit: "default";r=0;t=59`, `RateLimit: "default";r=1;t=60`} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{MaxWait: 30 * time.Second}
			afterAnswer(t, l, 200, line)
			_, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
			delay, ok := errors.AsType[*DelayError](err)
			if !ok || delay.Reason != "rate limit" || time.Until(delay.Until) != time.Minute {
				t.Errorf("Acquire after %s: error %v (%+v), want a DelayError for 1m0s with Reason %q", line, err, delay, "rate limit")
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a pause for a Retry-After has another Reason
		l := &Limiter{MaxWait: 30 * time.Second}
		first, _ := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		first.Done(Outcome{Status: 429, Header: fields("Retry-After: 600")})
		_, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		if delay, ok := errors.AsType[*DelayError](err); !ok || delay.Reason != "back-off" {
			t.Errorf("Acquire: error %v, want a DelayError with Reason %q", err, "back-off")
		}
	})
}
