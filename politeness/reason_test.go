package politeness

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A Trace receives the Reason of a wait while the request waits. An Observer
// receives this Reason when the request is granted or rejected.
func TestReasonOfAWait(t *testing.T) {
	const host = "http://example.com/"
	done := Outcome{Status: 200}
	tests := []struct {
		want    Reason
		limiter *Limiter
		before  func(t *testing.T, l *Limiter)
		ctx     func(ctx context.Context) context.Context
	}{
		{want: "delay", limiter: &Limiter{}, before: func(t *testing.T, l *Limiter) { grant(t, l, host).Done(done) }},
		{
			want: "adaptive delay", limiter: &Limiter{Adaptive: 10},
			before: func(t *testing.T, l *Limiter) { grant(t, l, host).Done(Outcome{Status: 200, Latency: time.Second}) },
		},
		{
			want: "crawl-delay", limiter: &Limiter{},
			before: func(t *testing.T, l *Limiter) { grant(t, l, host).Done(done) },
			ctx:    func(ctx context.Context) context.Context { return WithCrawlDelay(ctx, 30*time.Second) },
		},
		{
			want: "back-off", limiter: &Limiter{},
			before: func(t *testing.T, l *Limiter) { grant(t, l, host).Done(Outcome{Status: http.StatusTooManyRequests}) },
		},
		{
			want: "queue", limiter: &Limiter{},
			before: func(t *testing.T, l *Limiter) {
				for range 5 {
					go func() {
						g, err := l.Acquire(t.Context(), mustURL(t, host))
						if err == nil {
							g.Done(done)
						}
					}()
				}
				synctest.Wait()
			},
		},
		{
			want: "slot", limiter: &Limiter{},
			before: func(t *testing.T, l *Limiter) {
				g := grant(t, l, host)
				time.AfterFunc(10*time.Second, func() { g.Done(done) })
				time.Sleep(5 * time.Second) // after the interval, only the slot is missing
			},
		},
		{
			want: "global rate", limiter: &Limiter{Delay: -1, GlobalRate: rate.NewLimiter(rate.Every(5*time.Second), 1)},
			before: func(t *testing.T, l *Limiter) { grant(t, l, "http://other.example/").Done(done) },
		},
		{
			want: "within", limiter: &Limiter{Within: &Limiter{Delay: -1, Key: func(context.Context, *url.URL) (string, error) { return "all", nil }}},
			before: func(t *testing.T, l *Limiter) {
				g := grant(t, l, "http://other.example/")
				time.AfterFunc(10*time.Second, func() { g.Done(done) })
			},
		},
		{
			want: "within", limiter: &Limiter{Within: &Limiter{Key: func(context.Context, *url.URL) (string, error) { return "all", nil }}},
			before: func(t *testing.T, l *Limiter) { grant(t, l, "http://other.example/").Done(done) },
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var granted, rejected []Event
				note := func(to *[]Event) func(context.Context, Event) {
					return func(_ context.Context, e Event) {
						mu.Lock()
						defer mu.Unlock()
						*to = append(*to, e)
					}
				}
				l := tt.limiter
				l.Observer = &Observer{Granted: note(&granted), Rejected: note(&rejected)}
				tt.before(t, l)
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx(ctx)
				}

				short, cancel := context.WithTimeout(ctx, time.Millisecond)
				_, err := l.Acquire(short, mustURL(t, host))
				cancel()
				if d, ok := errors.AsType[*DelayError](err); !ok || d.Reason != tt.want {
					t.Errorf("a request with a short deadline: error %v (%+v), want a DelayError with Reason %q", err, d, tt.want)
				}
				if len(rejected) != 1 || rejected[0].Reason != tt.want {
					t.Errorf("Rejected received %+v, want one event with Reason %q", rejected, tt.want)
				}

				var traced []Reason
				trace := &Trace{Queued: func(_ time.Time, why Reason) { traced = append(traced, why) }}
				g, err := l.Acquire(WithTrace(ctx, trace), mustURL(t, host))
				if err != nil {
					t.Fatal(err)
				}
				g.Done(done)
				mu.Lock()
				last := granted[len(granted)-1]
				mu.Unlock()
				if last.Reason != tt.want || last.Wait == 0 {
					t.Errorf("Granted received %+v, want Reason %q and a Wait; the trace has %q", last, tt.want, traced)
				}
				found := false
				for _, why := range traced {
					found = found || why == tt.want
				}
				if !found {
					t.Errorf("the trace has %q, want %q among them", traced, tt.want)
				}
			})
		})
	}
}

// Programs print Reasons, and evidence records contain them, so their values
// must not change.
func TestReasonValues(t *testing.T) {
	values := map[Reason]string{
		ReasonDelay: "delay", ReasonAdaptive: "adaptive delay", ReasonCrawlDelay: "crawl-delay", ReasonBackOff: "back-off",
		ReasonRateLimit: "rate limit", ReasonQueue: "queue", ReasonSlot: "slot", ReasonBudget: "budget", ReasonFleet: "fleet",
		ReasonGlobalRate: "global rate", ReasonWithin: "within", ReasonMaxHosts: "max hosts",
	}
	for reason, value := range values {
		if string(reason) != value {
			t.Errorf("a Reason is %q, want %q", reason, value)
		}
	}
	for w, reason := range reasons {
		if _, exported := values[reason]; !exported && schedule.Reason(w) != schedule.ReasonNone {
			t.Errorf("the Reason %q has no constant", reason)
		}
	}
}

func TestReasonWhereThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 1, Budget: Budget{Requests: 10}}
		grant(t, l, "http://example.com/")
		_, err := l.Acquire(t.Context(), mustURL(t, "http://other.example/"))
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Reason != "max hosts" {
			t.Errorf("error %v, want a DelayError with Reason %q", err, "max hosts")
		}
	})
}

// If a request does not wait, its event has no Reason. If it fetches
// robots.txt, its event is marked Exempt.
func TestReasonOfNoWait(t *testing.T) {
	var got []Event
	l := &Limiter{Observer: &Observer{Granted: func(_ context.Context, e Event) { got = append(got, e) }}}
	g, err := l.Acquire(WithCrawlDelay(t.Context(), Exempt), mustURL(t, "http://example.com/robots.txt"))
	if err != nil {
		t.Fatal(err)
	}
	g.Done(Outcome{})
	if len(got) != 1 || got[0].Reason != "" || !got[0].Exempt {
		t.Errorf("events %+v, want one that is Exempt and has no Reason", got)
	}
}

func grant(t *testing.T, l *Limiter, u string) *Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), mustURL(t, u))
	if err != nil {
		t.Fatal(err)
	}
	return g
}
