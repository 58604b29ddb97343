package politeness

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
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

func TestQuotaOf(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	epoch := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	spent := func(d time.Duration) quota { return quota{pause: d + time.Second} }
	left := func(n int, d time.Duration) quota { return quota{spread: d / time.Duration(n), until: d + time.Second} }
	const none = time.Duration(0)
	for _, tt := range []struct {
		name   string
		header http.Header
		want   quota
	}{
		// These are the fields of draft-ietf-httpapi-ratelimit-headers-11. Some
		// have the form of an older version of this draft, from 07 to 10.
		{"RateLimit", fields(`RateLimit: "default";r=50;t=30`), left(50, 30*time.Second)},
		{"it is spent", fields(`RateLimit: "default";r=0;t=30`), spent(30 * time.Second)},
		{"it is spent for less than a second", fields(`RateLimit: "default";r=0;t=0`), spent(none)},
		{"a partition key, and an unknown parameter", fields(`RateLimit: "a, \"b\";c";pk=:cHsdsRa894==:;x="r=0";r=5;t=10;y=?1`), left(5, 10*time.Second)},
		{"of a parameter given twice the last counts", fields(`RateLimit: "default";r=0;t=30;r=10`), left(10, 30*time.Second)},
		{"the strictest of several", fields(`RateLimit: "burst";r=99;t=60, "day";r=10;t=3600 , "hour";r=99;t=600`), left(10, time.Hour)},
		{"in several lines", fields(`RateLimit: "burst";r=99;t=60`, `RateLimit: "day";r=10;t=3600`), left(10, time.Hour)},
		{"one is spent, another is not", fields(`RateLimit: "burst";r=0;t=60, "day";r=10;t=3600`), quota{pause: 61 * time.Second, spread: 6 * time.Minute, until: time.Hour + time.Second}},
		{"a name that is a token, before version 10", fields(`RateLimit: default;r=50;t=30`), left(50, 30*time.Second)},
		{"version 07", fields(`RateLimit: limit=100, remaining=50, reset=30`), left(50, 30*time.Second)},
		{"version 07, spent", fields(`RateLimit: limit=100,remaining=0,reset=5`), spent(5 * time.Second)},
		{"longer than the cap", fields(`RateLimit: "default";r=0;t=999999999999999`), spent(day)},
		{"longer than the cap, not spent", fields(`RateLimit: "default";r=2;t=999999999999999`), left(2, day)},

		{"a policy tells the window of what has no time", fields(`RateLimit: "default";r=0`, `RateLimit-Policy: "default";q=10;w=60`), spent(time.Minute)},
		{"another policy does not", fields(`RateLimit: "default";r=0`, `RateLimit-Policy: "Default";q=10`), quota{}},
		{"a policy alone is spread evenly", fields(`RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`), left(1000, day)},
		{"a policy of whose quota we are told is not", fields(`RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`, `RateLimit: "daily";r=900;t=90`), left(100, time.Minute)},
		{"a policy that lets nobody in", fields(`RateLimit-Policy: "default";q=0;w=60`), spent(time.Minute)},
		{"a policy on bytes", fields(`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`), quota{}},
		{"a policy on bytes, of which some are left", fields(`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`, `RateLimit: "default";r=1;t=30`), quota{}},
		{"a policy on bytes, of which none is left", fields(`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`, `RateLimit: "default";r=0;t=30`), spent(30 * time.Second)},
		{"a policy on requests, so named", fields(`RateLimit-Policy: "default";q=10;qu="requests";w=60`), left(10, time.Minute)},
		{"a policy without a window", fields(`RateLimit-Policy: "default";q=10`), quota{}},

		// These are the fields of the draft up to its version 06, and fields
		// that are older than the draft.
		{"RateLimit-Remaining", fields("RateLimit-Limit: 100", "RateLimit-Remaining: 50", "RateLimit-Reset: 30"), left(50, 30*time.Second)},
		{"RateLimit-Remaining, spent", fields("RateLimit-Remaining: 0", "RateLimit-Reset: 30"), spent(30 * time.Second)},
		{"X-RateLimit in seconds", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 30"), spent(30 * time.Second)},
		{"X-RateLimit as Reddit has it", fields("X-Ratelimit-Remaining: 598.0", "X-Ratelimit-Used: 2", "X-Ratelimit-Reset: 299"), left(598, 299*time.Second)},
		{"X-RateLimit as GitHub has it", fields("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(10*time.Minute)), spent(10 * time.Minute)},
		{"by the server's own clock", fields("Date: Sun, 22 Nov 2026 12:09:00 GMT", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(10*time.Minute)), spent(time.Minute)},
		{"X-RateLimit in milliseconds since 1970", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Minute)+"500"), spent(time.Minute + 500*time.Millisecond)},
		{"X-RateLimit as Discord has it", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(time.Hour)+".5", "X-RateLimit-Reset-After: 1.25"), spent(1250 * time.Millisecond)},
		{"X-RateLimit with a date", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 GMT"), spent(5 * time.Minute)},
		{"X-RateLimit with a date of another form", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 2026-11-22T12:05:00Z"), spent(5 * time.Minute)},
		{"X-Rate-Limit", fields("X-Rate-Limit-Remaining: 0", "X-Rate-Limit-Reset: "+epoch(time.Minute)), spent(time.Minute)},
		{"the last second that is a delta", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 999999999"), spent(day)},
		{"the first second that is a time, long past", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1000000000"), quota{}},
		{"a time beyond the cap", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(48*time.Hour)), spent(day)},
		{"a date beyond the cap", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: Sun, 22 Nov 2099 12:05:00 GMT"), spent(day)},
		{"several in a field", fields("X-RateLimit-Remaining: 10, 0;w=1", "X-RateLimit-Reset: 1, 60"), quota{pause: 61 * time.Second, spread: 100 * time.Millisecond, until: 2 * time.Second}},
		{"a second's and a month's, as Brave has them", fields("X-RateLimit-Limit: 1, 15000", "X-RateLimit-Policy: 1;w=1, 15000;w=2592000", "X-RateLimit-Remaining: 0, 14523", "X-RateLimit-Reset: 1, 40000"), quota{pause: 2 * time.Second, spread: 40000 * time.Second / 14523, until: 40001 * time.Second}},
		{"the month's is spent", fields("X-RateLimit-Remaining: 1, 0", "X-RateLimit-Reset: 1, 1419704"), quota{pause: day + time.Second, spread: time.Second, until: 2 * time.Second}},
		{"several in lines of their own", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Remaining: 60", "X-RateLimit-Reset: 1", "X-RateLimit-Reset: 3600"), quota{pause: 2 * time.Second, spread: time.Minute, until: time.Hour + time.Second}},
		{"several left and one time", fields("X-RateLimit-Remaining: 10, 0", "X-RateLimit-Reset: 60"), spent(time.Minute)},
		{"several left and a date", fields("X-RateLimit-Remaining: 10, 0", "X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 GMT"), spent(5 * time.Minute)},
		{"eight", fields("X-RateLimit-Remaining: 9,9,9,9,9,9,9,0", "X-RateLimit-Reset: 1,1,1,1,1,1,1,60"), quota{pause: 61 * time.Second, spread: time.Second / 9, until: 2 * time.Second}},
		{"more than anybody has", fields("X-RateLimit-Remaining: 9,9,9,9,9,9,9,9,0", "X-RateLimit-Reset: 1,1,1,1,1,1,1,1,60"), spent(time.Minute)},

		// These responses come from a cache, except the last one.
		{"it was spent when it was stored", fields("Age: 61", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"), quota{}},
		{"it still is", fields("Age: 20", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"), spent(40 * time.Second)},
		{"by the clock of then", fields("Date: Sun, 22 Nov 2026 11:50:00 GMT", "Age: 600", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(-time.Minute)), quota{}},
		{"RateLimit was spent when it was stored", fields("Age: 61", `RateLimit: "default";r=0;t=60`), quota{}},
		{"a policy is not of one moment", fields("Age: 61", `RateLimit-Policy: "default";q=10;w=60`), left(10, time.Minute)},
		{"an age that is none", fields("Age: old", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"), spent(time.Minute)},
		{"of all forms the strictest", fields(`RateLimit: "default";r=50;t=30`, "RateLimit-Remaining: 10", "RateLimit-Reset: 100", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 3"), quota{pause: 4 * time.Second, spread: 10 * time.Second, until: 101 * time.Second}},

		// Among these cases, only "a limit of 0 for some time" has a quota.
		{"nothing", fields("Content-Type: text/html"), quota{}},
		{"no time", fields(`RateLimit: "default";r=0`), quota{}},
		{"no number", fields(`RateLimit: "default";t=30`), quota{}},
		{"no remaining", fields("X-RateLimit-Limit: 60", "X-RateLimit-Reset: 30"), quota{}},
		{"no reset", fields("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0"), quota{}},
		{"a time that is past", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(-time.Second)), quota{}},
		{"a date that is past", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: Sun, 22 Nov 2026 11:59:59 GMT"), quota{}},
		{"without limit", fields("X-RateLimit-Remaining: -1", "X-RateLimit-Reset: 30"), quota{}},
		{"without limit, as Tyk says so", fields("X-RateLimit-Limit: 0", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 0"), quota{}},
		{"a limit of 0 for some time", fields("X-RateLimit-Limit: 0", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 30"), spent(30 * time.Second)},
		{"a word", fields("X-RateLimit-Remaining: unlimited", "X-RateLimit-Reset: soon"), quota{}},
		{"an exponent", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1e9"), quota{}},
		{"an end that no clock has", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+strings.Repeat("9", 400)), quota{}},

		// No part of a malformed field counts.
		{"a negative number", fields(`RateLimit: "default";r=-1;t=30`), quota{}},
		{"a decimal", fields(`RateLimit: "default";r=0.5;t=30`), quota{}},
		{"a string for a number", fields(`RateLimit: "default";r="0";t=30`), quota{}},
		{"a parameter without a value", fields(`RateLimit: "default";r;t=30`), quota{}},
		{"16 digits", fields(`RateLimit: "default";r=0;t=1000000000000000`), quota{}},
		{"a number for a name", fields(`RateLimit: 5;r=0;t=30`), quota{}},
		{"an inner list", fields(`RateLimit: ("default");r=0;t=30`), quota{}},
		{"an open string", fields(`RateLimit: "default;r=0;t=30`), quota{}},
		{"a comma at the end", fields(`RateLimit: "default";r=0;t=30,`), quota{}},
		{"two items without a comma", fields(`RateLimit: "default";r=0;t=30 "other"`), quota{}},
		{"a fault after a good item", fields(`RateLimit: "default";r=0;t=30, "other";r=x y`), quota{}},
		{"a fault in another line", fields(`RateLimit: "default";r=0;t=30`, `RateLimit: ;`), quota{}},
		{"an upper-case parameter", fields(`RateLimit: "default";R=0;t=30`), quota{}},
		{"a byte that is not ASCII", fields("RateLimit: \"d\u00e9fault\";r=0;t=30"), quota{}},
		{"more than anybody reads", fields(`RateLimit: "` + strings.Repeat("x", 4<<10) + `";r=0;t=30`), quota{}},
		{"version 07, with a fault", fields(`RateLimit: limit=100, remaining=x, reset=5`), quota{}},
		{"a malformed field, and a good one of another form", fields(`RateLimit: "default`, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 3"), spent(3 * time.Second)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := quotaOf(tt.header, 0, now, day); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

const day = 24 * time.Hour

func quotaOf(h http.Header, others int64, now time.Time, most time.Duration) quota {
	return askedBy(h, now, most).quota(others)
}

// Other requests in flight are subtracted from the quota, because the server
// has presumably not counted them yet.
func TestQuotaOf_WithOthersInFlight(t *testing.T) {
	h, policy := fields(`RateLimit: "default";r=5;t=60`), fields(`RateLimit-Policy: "default";q=5;w=60`)
	for others, want := range map[int64]quota{
		0: {spread: 12 * time.Second, until: 61 * time.Second},
		1: {spread: 15 * time.Second, until: 61 * time.Second},
		5: {pause: 61 * time.Second},
		9: {pause: 61 * time.Second},
	} {
		if got := quotaOf(h, others, time.Now(), day); got != want {
			t.Errorf("%d others: %+v, want %+v", others, got, want)
		}
		if got := quotaOf(policy, others, time.Now(), day); got != want {
			t.Errorf("%d others, by the policy alone: %+v, want %+v", others, got, want)
		}
	}
}

// quotaServer accepts as many requests as its quota in each window. It counts
// the requests beyond its quota and answers them with 429.
type quotaServer struct {
	quota  int
	window time.Duration
	took   time.Duration // how long each request takes
	tell   func(h http.Header, quota, left int, reset time.Duration)

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
	s.tell(w.Header(), s.quota, max(0, s.quota-s.used), s.ends.Sub(now))
	over := s.used > s.quota
	s.mu.Unlock()
	time.Sleep(s.took)
	if over {
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// A server that states its quota, in any of the forms, never gets more requests
// than its quota. One case is left out: several requests at a time to a server
// that states its quota only when the quota is spent. The crawl takes at most
// about three times as long as the quota demands.
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
	for name, tell := range forms {
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
					server := &quotaServer{quota: 10, window: time.Minute, took: 900 * time.Millisecond, tell: tell}
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
						t.Errorf("%d requests beyond the quota", server.beyond)
					}
					if took := time.Since(start); took < 6*time.Minute || took > 20*time.Minute {
						t.Errorf("took %v, and the quota is for 7 min", took)
					}
				})
			})
		}
	}
}

// This is TestQuotasAreKept in real time, over loopback, with one form from
// each of three families of fields.
func TestQuotasAreKept_Loopback(t *testing.T) {
	up := func(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
	for name, tell := range map[string]func(h http.Header, quota, left int, reset time.Duration){
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
			server := &quotaServer{quota: 5, window: 2 * time.Second, tell: tell}
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
					t.Errorf("a page is refused with %s", resp.Status)
				}
			}
			if server.beyond > 0 {
				t.Errorf("%d of %d requests beyond the quota", server.beyond, requests)
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

// next() returns the time until a.example may be asked.
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
		{"beyond the cap", 200, []string{`RateLimit: "default";r=0;t=999999`}, time.Hour + time.Second},
		{"beyond the cap, not spent", 200, []string{`RateLimit: "default";r=2;t=999999`}, 30 * time.Minute},
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
					t.Errorf("next in %v, want %v", got, tt.want)
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
			t.Errorf("next in %v, but Delay is 20 s", got)
		}
		l = &Limiter{Concurrency: -1, Delay: -1}
		afterAnswer(t, l, 200, `RateLimit: "default";r=2;t=60`)
		old, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/")) // this request starts after a wait of 30 s
		if err != nil {
			t.Fatal(err)
		}
		old.Done(Outcome{Status: 200, Header: fields(`RateLimit: "other";r=100;t=60`)})
		if got := next(t, l); got != 30*time.Second {
			t.Errorf("next in %v, and the stricter quota holds for 30 s more", got)
		}
		time.Sleep(30 * time.Second)
		afterAnswer(t, l, 200, `RateLimit: "other";r=60;t=60`)
		if got := next(t, l); got != time.Second {
			t.Errorf("next in %v, now that it is over", got)
		}
		afterAnswer(t, l, 200)
		time.Sleep(time.Hour)
		if got := next(t, l); got > 0 {
			t.Errorf("next in %v, an hour later", got)
		}
	})
}

// A wait for a quota has the Reason "rate limit". A request whose wait would be
// too long is refused.
func TestQuotaIsAReason(t *testing.T) {
	for _, line := range []string{`RateLimit: "default";r=0;t=59`, `RateLimit: "default";r=1;t=60`} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{MaxWait: 30 * time.Second}
			afterAnswer(t, l, 200, line)
			_, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
			delay, ok := errors.AsType[*DelayError](err)
			if !ok || delay.Reason != "rate limit" || time.Until(delay.Until) != time.Minute {
				t.Errorf("%s: %v, %+v", line, err, delay)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a pause that Retry-After asks for has another Reason
		l := &Limiter{MaxWait: 30 * time.Second}
		first, _ := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		first.Done(Outcome{Status: 429, Header: fields("Retry-After: 600")})
		_, err := l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		if delay, ok := errors.AsType[*DelayError](err); !ok || delay.Reason != "back-off" {
			t.Errorf("%v", err)
		}
	})
}

// Most responses have none of these fields, and cost nothing.
func TestQuotas_Allocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range []struct {
		header http.Header
		most   float64
	}{
		{fields("Content-Type: text/html", "Server: x", "Date: Sun, 22 Nov 2026 12:09:00 GMT"), 0},
		{fields("Retry-After: 60", "Date: Sun, 22 Nov 2026 12:09:00 GMT"), 0},
		{fields(`RateLimit: "default";r=50;t=30`, `RateLimit-Policy: "default";q=100;w=60, "x";q=5;qu="content-bytes"`), 24},
		{fields("X-RateLimit-Remaining: 598.0", "X-RateLimit-Reset: 299"), 4},
	} {
		now := time.Now()
		if n := testing.AllocsPerRun(100, func() { askedBy(tt.header, now, day) }); n > tt.most {
			t.Errorf("%v: %v allocations, %v may be", tt.header, n, tt.most)
		}
	}
}

// A server can send a field as long as it likes. Of one that is longer than any
// real one, nothing counts.
func TestQuotas_Floods(t *testing.T) {
	const name, lines = 4 << 10, 560_000
	now := time.Now()
	for what, h := range map[string]http.Header{
		"items of RateLimit":        {"Ratelimit": {strings.Repeat(`"a";r=0;t=9,`, name/12) + `"b";r=0;t=9`}},
		"items of RateLimit-Policy": {"Ratelimit-Policy": {strings.Repeat(`"a";q=0;w=9,`, name/12) + `"b";q=0;w=9`}},
		"times of a quota":          {"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {strings.Repeat("9,", name/2) + "9,9"}},
		"numbers of a quota":        {"X-Ratelimit-Remaining": {strings.Repeat("0,", name/2) + "0,0"}, "X-Ratelimit-Reset": {"9"}},
		"lines of a quota":          {"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": slices.Repeat([]string{"9"}, lines)},
		"lines of Retry-After":      {"Retry-After": slices.Repeat([]string{"9"}, lines)},
		"empty lines":               {"Retry-After": append(make([]string, lines), "9")},
	} {
		if a := askedBy(h, now, day); a.retryAfter != 0 || a.quotas != nil {
			t.Errorf("%s: %+v", what, a)
		}
	}
	// Nor does a long Date: the time that the server names is taken by our own
	// clock then.
	h := http.Header{"Retry-After": {now.Add(time.Minute).UTC().Format(http.TimeFormat)}, "Date": {strings.Repeat(" ", name) + now.UTC().Format(http.TimeFormat)}}
	if wait, ok := RetryAfter(h, now.Truncate(time.Second)); !ok || wait != time.Minute {
		t.Errorf("%v, %t", wait, ok)
	}
}

func BenchmarkQuota(b *testing.B) {
	for name, h := range map[string]http.Header{
		"none":      fields("Content-Type: text/html", "Server: x", "Date: y", "Etag: z", "Cache-Control: a", "Vary: b", "Age: c"),
		"RateLimit": fields(`RateLimit: "default";r=50;t=30`, `RateLimit-Policy: "default";q=100;w=60`),
		"X":         fields("X-RateLimit-Remaining: 598", "X-RateLimit-Reset: 299"),
	} {
		b.Run(name, func(b *testing.B) {
			now := time.Now()
			for b.Loop() {
				quotaOf(h, 0, now, day)
			}
		})
	}
}

func FuzzQuotaOf(f *testing.F) {
	f.Add("RateLimit", `"default";r=50;t=30, "day";r=0;t=3600`, "RateLimit-Policy", `"default";q=100;w=60`)
	f.Add("RateLimit", `limit=100, remaining=50, reset=5`, "X-RateLimit-Remaining", "0")
	f.Add("X-RateLimit-Remaining", "0, 1.5", "X-RateLimit-Reset", "1795348800")
	f.Add("X-RateLimit-Remaining", "0, 1500", "X-RateLimit-Reset", "1, 1419704")
	f.Add("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "Sun, 22 Nov 2026 12:05:00 GMT")
	f.Add("RateLimit-Policy", `a;q=0;w=1;qu="requests", b;x=%"\";y=?0;z=@1;v=:QQ==:`, "RateLimit-Remaining", "9")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		h := make(http.Header)
		h.Add(name1, value1)
		h.Add(name2, value2)
		now := time.Unix(1_795_348_800, 0)
		q := quotaOf(h, 0, now, day)
		if q.pause < 0 || q.pause > day+time.Second || q.spread < 0 || q.spread > q.until || q.until > day+time.Second || q.spread == 0 && q.until != 0 {
			t.Fatalf("%+v", q)
		}
		if busy := quotaOf(h, 3, now, day); busy.pause < q.pause {
			t.Fatalf("with others in flight %+v, without %+v", busy, q)
		}
		// If a part of a field is malformed, the parts before it are ignored
		// too.
		if name1 == "RateLimit" {
			h := http.Header{"Ratelimit": {value1, "\x00"}}
			if q := quotaOf(h, 0, now, day); q != (quota{}) {
				t.Fatalf("malformed, but %+v", q)
			}
		}
	})
}
