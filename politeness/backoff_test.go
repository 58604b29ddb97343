package politeness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Each row is a series of requests to a host: how the host answers a request,
// and when the next request may start. The interval is 1 s by default.
func TestWhatRestsAHost(t *testing.T) {
	const s = time.Second
	type step struct {
		answer string        // the status, then header fields
		least  time.Duration // the least time from this request's start to that of the next
		chance bool          // whether a random time, up to a tenth of least, is added
	}
	tests := []struct {
		name    string
		limiter *Limiter
		steps   []step
	}{
		{"good responses", &Limiter{}, []step{{"200", 1 * s, false}, {"404", 1 * s, false}, {"301", 1 * s, false}}},
		{"a 429 pauses it for BackOff, doubled for each in a row", &Limiter{},
			[]step{{"429", 5 * s, true}, {"429", 10 * s, true}, {"429", 20 * s, true}}},
		{"up to MaxBackOff", &Limiter{BackOff: 8 * s, MaxBackOff: 20 * s},
			[]step{{"429", 8 * s, true}, {"429", 16 * s, true}, {"429", 20 * s, false}, {"429", 20 * s, false}}},
		{"a good response undoes one step", &Limiter{},
			[]step{{"429", 5 * s, true}, {"429", 10 * s, true}, {"200", 1 * s, false}, {"429", 10 * s, true}, {"429", 20 * s, true}}},
		{"one broken page among good ones costs an interval", &Limiter{},
			[]step{{"200", 1 * s, false}, {"503", 2 * s, false}, {"200", 1 * s, false}, {"503", 2 * s, false}, {"200", 1 * s, false}, {"503", 2 * s, false}}},
		{"the second 503 in a row counts as a 429", &Limiter{},
			[]step{{"503", 2 * s, false}, {"503", 5 * s, true}, {"503", 10 * s, true}, {"503", 20 * s, true}}},
		{"and after a good response the next is the first again", &Limiter{},
			[]step{{"503", 2 * s, false}, {"503", 5 * s, true}, {"200", 1 * s, false}, {"503", 2 * s, false}, {"503", 5 * s, true}}},
		{"also while more steps are left", &Limiter{},
			[]step{{"429", 5 * s, true}, {"429", 10 * s, true}, {"200", 1 * s, false}, {"503", 2 * s, false}, {"503", 10 * s, true}}},
		{"a 503 after a 429 is the second in a row", &Limiter{},
			[]step{{"429", 5 * s, true}, {"503", 10 * s, true}}},
		{"a 429 after a 503 is a 429", &Limiter{},
			[]step{{"503", 2 * s, false}, {"429", 5 * s, true}}},
		{"an error of the page is neither good nor bad", &Limiter{},
			[]step{{"500", 1 * s, false}, {"503", 2 * s, false}, {"502", 1 * s, false}, {"503", 5 * s, true}}},
		{"Retry-After of a 429", &Limiter{}, []step{{"429 Retry-After=90", 90 * s, false}, {"429", 10 * s, true}}},
		{"Retry-After of a 503, at first and later", &Limiter{},
			[]step{{"503 Retry-After=90", 90 * s, false}, {"503 Retry-After=7", 7 * s, false}, {"503", 10 * s, true}}},
		{"Retry-After of a redirect, which is no back-off", &Limiter{},
			[]step{{"302 Retry-After=90", 90 * s, false}, {"307 Retry-After=30", 30 * s, false}, {"503", 2 * s, false}}},
		{"a redirect with Retry-After is a good response", &Limiter{},
			[]step{{"429", 5 * s, true}, {"429", 10 * s, true}, {"301 Retry-After=30", 30 * s, false}, {"429", 10 * s, true}}},
		{"all are shortened to MaxRetryAfter", &Limiter{MaxRetryAfter: 20 * s},
			[]step{{"429 Retry-After=90", 20 * s, false}, {"503 Retry-After=90", 20 * s, false}, {"302 Retry-After=99999999999999999999", 20 * s, false}}},
		{"Retry-After of a 2xx is not about the next request", &Limiter{},
			[]step{{"200 Retry-After=90", 1 * s, false}, {"202 Retry-After=90", 1 * s, false}, {"204 Retry-After=90", 1 * s, false}}},
		// GitHub sends Retry-After with 403, Cloudflare with 520 to 530, and
		// LinkedIn with 999.
		{"Retry-After of any 4xx", &Limiter{},
			[]step{{"400 Retry-After=90", 90 * s, false}, {"403 Retry-After=60", 60 * s, false}, {"404 Retry-After=30", 30 * s, false}, {"408 Retry-After=90", 90 * s, false},
				{"413 Retry-After=90", 90 * s, false}, {"420 Retry-After=90", 90 * s, false}, {"425 Retry-After=90", 90 * s, false}, {"451 Retry-After=90", 90 * s, false}, {"200", 1 * s, false}}},
		{"Retry-After of any 5xx, and above", &Limiter{},
			[]step{{"500 Retry-After=90", 90 * s, false}, {"502 Retry-After=60", 60 * s, false}, {"504 Retry-After=30", 30 * s, false}, {"509 Retry-After=90", 90 * s, false},
				{"520 Retry-After=90", 90 * s, false}, {"522 Retry-After=90", 90 * s, false}, {"530 Retry-After=90", 90 * s, false}, {"999 Retry-After=90", 90 * s, false}, {"200", 1 * s, false}}},
		{"without Retry-After, these pause no host", &Limiter{},
			[]step{{"403", 1 * s, false}, {"408", 1 * s, false}, {"420", 1 * s, false}, {"502", 1 * s, false}, {"520", 1 * s, false}, {"999", 1 * s, false}}},
		{"a 4xx with Retry-After is not a good response", &Limiter{},
			[]step{{"429", 5 * s, true}, {"429", 10 * s, true}, {"403 Retry-After=30", 30 * s, false}, {"429", 20 * s, true}}},
		{"a 4xx without a usable Retry-After is one", &Limiter{},
			[]step{{"429", 5 * s, true}, {"429", 10 * s, true}, {"403 Retry-After=soon", 1 * s, false}, {"429", 10 * s, true}}},
		{"430 counts as 429", &Limiter{},
			[]step{{"430", 5 * s, true}, {"430", 10 * s, true}, {"429", 20 * s, true}, {"430 Retry-After=90", 90 * s, false}, {"430", 80 * s, true}}},
		{"529 counts as 503", &Limiter{},
			[]step{{"529", 2 * s, false}, {"200", 1 * s, false}, {"529", 2 * s, false}, {"503", 5 * s, true}, {"529", 10 * s, true}, {"529 Retry-After=90", 90 * s, false}}},
		{"a Retry-After that is unusable", &Limiter{},
			[]step{{"302 Retry-After=soon", 1 * s, false}, {"503 Retry-After=0", 2 * s, false}, {"429 Retry-After=-1", 5 * s, true}}},
		{"a sure challenge", &Limiter{},
			[]step{{"403 Cf-Mitigated=challenge", 2 * s, false}, {"403 Cf-Mitigated=challenge", 5 * s, true}, {"200", 1 * s, false}, {"403 Cf-Mitigated=challenge", 2 * s, false}}},
		{"a challenge with status 200 or 202", &Limiter{},
			[]step{{"202 X-Amzn-Waf-Action=challenge", 2 * s, false}, {"200 Sg-Captcha=challenge", 5 * s, true}}},
		{"a captcha", &Limiter{}, []step{{"405 X-Amzn-Waf-Action=captcha", 2 * s, false}}},
		{"a sure block", &Limiter{}, []step{{"403 X-Vercel-Mitigated=deny", 2 * s, false}, {"503", 5 * s, true}}},
		{"a challenge with Retry-After", &Limiter{}, []step{{"403 Cf-Mitigated=challenge Retry-After=60", 60 * s, false}}},
		{"a bot-protection response with 429 is a 429", &Limiter{}, []step{{"429 X-Vercel-Mitigated=challenge", 5 * s, true}}},
		{"a page that is forbidden, illegal, or for sale", &Limiter{},
			[]step{{"403", 1 * s, false}, {"403 Server=AkamaiGHost", 1 * s, false}, {"451", 1 * s, false}, {"402 Crawler-Price=USD_0.01", 1 * s, false}, {"503", 2 * s, false}}},
		{"the interval may be an adaptive one", &Limiter{Adaptive: 4000}, // and the responses take 1 ms
			[]step{{"200", 4 * s, false}, {"503", 8 * s, false}, {"200", 4 * s, false}}},
		{"from the end", &Limiter{EndToStart: true}, []step{{"200", 1 * s, false}, {"503", 2 * s, false}}},
		{"without an interval", &Limiter{Delay: -1}, []step{{"503", 0, false}, {"503", 5 * s, true}}},
		{"without back-off only Retry-After counts", &Limiter{BackOff: -1},
			[]step{{"503", 1 * s, false}, {"503", 1 * s, false}, {"429", 1 * s, false}, {"503 Retry-After=30", 30 * s, false}, {"302 Retry-After=30", 30 * s, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var status int
				var header http.Header
				takes := time.Nanosecond
				if tt.limiter.Adaptive > 0 {
					takes = time.Millisecond
				}
				tr := &Transport{Limiter: tt.limiter, Base: roundTripFunc(func(*http.Request) (*http.Response, error) {
					time.Sleep(takes)
					return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("x"))}, nil
				})}
				for i, step := range tt.steps {
					fields := strings.Fields(step.answer)
					fmt.Sscan(fields[0], &status)
					header = http.Header{}
					for _, f := range fields[1:] {
						name, value, _ := strings.Cut(f, "=")
						header.Set(name, strings.ReplaceAll(value, "_", " "))
					}
					time.Sleep(time.Until(tt.limiter.Next(mustURL(t, "http://example.com/"))) + 1) // 1 ns more, so that this request starts after the previous response
					start := time.Now()
					resp, err := tr.RoundTrip(newGet(t, "http://example.com/"))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					most := step.least + 2
					if step.chance {
						most += step.least / 10
					}
					if got := tt.limiter.Next(mustURL(t, "http://example.com/")).Sub(start); got < step.least || got > most {
						t.Errorf("step %d, %s: the next request may start %v after the request, want %v to %v", i, step.answer, got, step.least, most)
					}
				}
			})
		})
	}
}

// If several requests are in flight when the first 429 or 503 arrives, all such
// responses to them are one incident.
func TestBackOff_ResponsesOfOneIncident(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name        string
		statuses    []int
		least, most time.Duration
	}{
		{"503s are one", []int{503, 503, 503, 503}, 1 * s, 1 * s},
		{"a 429 among them confirms it", []int{503, 429, 503, 429}, 5 * s, 5500 * time.Millisecond},
		{"whenever it arrives", []int{429, 503, 503, 503}, 5 * s, 5500 * time.Millisecond},
		{"a good response to a request that was in flight proves nothing", []int{503, 200, 200, 200}, 1 * s, 1 * s},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Delay: s, Concurrency: 4}
			u := mustURL(t, "http://example.com/")
			var grants []*Grant
			for range tt.statuses {
				g, err := l.Acquire(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				grants = append(grants, g)
			}
			time.Sleep(10 * s)
			for i, g := range grants {
				g.Done(Outcome{Status: tt.statuses[i]})
			}
			if pause := time.Until(l.Next(u)); pause < tt.least || pause > tt.most {
				t.Errorf("%s: the host is paused for %v, want %v to %v", tt.name, pause, tt.least, tt.most)
			}
		})
	}
}

// After a 503, two intervals pass before the next request, not one. If the 503
// arrives after the first interval, the second begins when it arrives. The
// interval may be a Crawl-delay.
func TestBackOff_OneIntervalMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		for _, crawl := range []time.Duration{0, 7 * time.Second} {
			for _, work := range []time.Duration{0, 20 * time.Second} {
				g, err := l.Acquire(WithCrawlDelay(t.Context(), crawl), u)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				time.Sleep(work)
				g.Done(Outcome{Status: 503})
				interval := max(crawl, time.Second)
				if got, want := l.Next(u).Sub(start), max(work, interval)+interval; got != want {
					t.Errorf("a 503 after %v with an interval of %v: the next request may start %v after the request, want %v", work, interval, got, want)
				}
				g, _ = l.Acquire(t.Context(), u)
				time.Sleep(time.Nanosecond)
				g.Done(Outcome{Status: 200})
			}
		}
	})
}

// With EndToStart, the body of a 503 takes longer than two intervals. Two
// intervals pass after its end, as after a 503 without a body, and the Observer
// receives the prolonged pause.
func TestBackOff_OneIntervalMoreAfterASlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		l := &Limiter{EndToStart: true, Observer: &Observer{BackedOff: func(_ context.Context, e Event) {
			if e.Status != 503 {
				t.Errorf("BackedOff received %+v, want Status 503", e)
			}
			waits = append(waits, e.Wait)
		}}}
		tr := &Transport{Limiter: l, Base: answer(503, "busy")}
		resp := get(t, tr, "http://example.com/")
		var wg sync.WaitGroup
		began := time.Now()
		wg.Go(func() {
			g, err := l.Acquire(t.Context(), mustURL(t, "http://example.com/"))
			if waited := time.Since(began); err != nil || waited != 12*time.Second {
				t.Errorf("error %v after %v, want 12s", err, waited)
			}
			g.Done(Outcome{Status: 200})
		})
		time.Sleep(10 * time.Second)
		resp.Body.Close()
		wg.Wait()
		if !slices.Equal(waits, []time.Duration{2 * time.Second, 2 * time.Second}) {
			t.Errorf("BackedOff received the pauses %v, want 2s with the header and 2s with the end of the body", waits)
		}
	})
}

// A host that has sent a 503 is not evicted for new hosts, because its next 503
// is the second in a row.
func TestBackOff_First503IsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		get503 := func() time.Duration {
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{Status: 503})
			return time.Until(l.Next(u))
		}
		get503()
		for i := range 1000 {
			time.Sleep(time.Second)
			g, _ := l.Acquire(t.Context(), mustURL(t, fmt.Sprintf("http://h%d.example/", i)))
			g.Done(Outcome{Status: 200})
		}
		if pause := get503(); pause < 5*time.Second {
			t.Errorf("the second 503 in a row pauses the host for %v, want 5s", pause)
		}
	})
}

// Crawlers that get a 429 at the same time are paused for different times,
// because each pause is up to a tenth longer at random.
func TestBackOff_RandomPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://example.com/")
		pauses := make(map[time.Duration]bool)
		for range 10 {
			l := &Limiter{BackOff: 5 * time.Second}
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{Status: http.StatusTooManyRequests})
			pause := time.Until(l.Next(u))
			if pause < 5*time.Second || pause > 5500*time.Millisecond {
				t.Errorf("after the 429, a pause of %v, want 5s to 5.5s", pause)
			}
			pauses[pause] = true
		}
		if len(pauses) < 5 {
			t.Errorf("ten Limiters have %d different pauses after a 429, want at least 5", len(pauses))
		}
	})
}

// When the pause has grown to MaxBackOff, it stays there, however many
// incidents follow.
func TestBackOff_HundredsOfIncidents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://example.com/")
		l := &Limiter{BackOff: time.Second, MaxBackOff: time.Minute}
		for i := range 600 {
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			g.Done(Outcome{Status: http.StatusTooManyRequests})
			if pause := time.Until(l.Next(u)); i >= 6 && pause != time.Minute {
				t.Fatalf("incident %d pauses for %v, want 1m0s", i+1, pause)
			}
		}
	})
}

// If the Limiter rejects a request only because no slot is free, the error
// proposes a retry after one interval. A retry at once would be rejected too.
func TestDelayError_NoFreeSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://example.com/")
		l := &Limiter{Delay: 3 * time.Second, MaxWait: -1}
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		_, err = l.Acquire(t.Context(), u)
		delay, ok := errors.AsType[*DelayError](err)
		if !ok || time.Until(delay.Until) != 3*time.Second || delay.Reason != "slot" {
			t.Errorf("error %v, want a DelayError of 3 s for a slot", err)
		}
		g.Done(Outcome{})
	})
}

// Ten requests are in flight and fifty are queued when the host sends a 429.
// None of the fifty starts before the pause is over, and the ten responses with
// 429 are one incident.
func TestBackOff_OneIncident(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		least  time.Duration // the least time from the 429 to the next start
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
				var grants []*Grant
				for range 10 {
					g, err := l.Acquire(t.Context(), u)
					if err != nil {
						t.Fatal(err)
					}
					grants = append(grants, g)
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
				responded := time.Now()
				for _, g := range grants {
					g.Done(Outcome{Status: 429, Header: tt.header})
				}
				if s := l.Stats(); paused(l) != 1 || s.Waiting != 50 || s.InFlight != 0 {
					t.Errorf("after the 429: %+v, %d paused; want 50 waiting, none in flight, 1 paused", s, paused(l))
				}
				wg.Wait()
				if first := starts[0].Sub(responded); first < tt.least || first > tt.most {
					t.Errorf("the first of the waiting requests started %v after the 429, want %v to %v", first, tt.least, tt.most)
				}
				for i := 1; i < len(starts); i++ {
					if gap := starts[i].Sub(starts[i-1]); gap != 10*time.Millisecond {
						t.Errorf("gap %d between the starts after the 429 is %v, want 10ms", i, gap)
					}
				}
			})
		})
	}
}

// paused returns how many hosts are paused because of their responses.
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

// The pause doubles with each incident, up to MaxBackOff. Each good response
// undoes one step, unless its request started before the latest incident.
func TestBackOff_EscalationAndRecovery(t *testing.T) {
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
			t.Errorf("the third pause is %v, want 32s to 36s", got)
		}
		old.Done(Outcome{Status: 200}) // this request started before the 503, so its 200 does not count
		if got := pause(429); got != 60*time.Second {
			t.Errorf("the fourth pause is %v, want 1m0s", got)
		}
	})
}

// If a pause would outlast the deadline of a waiting request, the request is
// rejected at once. A request that can wait receives its new estimated start.
func TestBackOff_RejectsLateRequests(t *testing.T) {
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
					t.Errorf("the request with a deadline: error %v, want a DelayError until at least 1h from the start", err)
				}
				if time.Since(zero) != time.Second {
					t.Errorf("the request with a deadline is rejected after %v, want 1s, when the 429 arrives", time.Since(zero))
				}
			})
		}
		var untils []time.Duration
		wg.Go(func() {
			ctx := WithTrace(t.Context(), &Trace{Queued: func(until time.Time, _ Reason) { untils = append(untils, until.Sub(zero)) }})
			g, err := l.Acquire(ctx, u)
			if err != nil || time.Since(zero) < time.Hour {
				t.Errorf("the request without a deadline: error %v after %v, want none after an hour", err, time.Since(zero))
			}
			g.Done(Outcome{})
		})
		time.Sleep(time.Second)
		g.Done(Outcome{Status: 429, Header: retryIn("3600")})
		wg.Wait()
		if n := len(untils); n < 2 || untils[n-1] != time.Hour+time.Second {
			t.Errorf("the request without a deadline received the estimates %v, want at least 2, the last 1h0m1s", untils)
		}
	})
}
