package politeness

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// panics is the context key of a request whose Observer panics.
type panics struct{}

// PerHost panics when a request arrives, or the PerHost of Within when the
// request has waited for its own host. The request leaves all queues and uses
// up no slot, and the next request starts as if it had never been made.
func TestAcquire_PerHostPanics(t *testing.T) {
	for name, tt := range map[string]struct {
		own, within int // which call panics, counted from 1; 0 means none
	}{"PerHost": {2, 0}, "PerHost of Within, before the wait": {0, 3}, "PerHost of Within, after the wait": {0, 4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				perHost := func(panicking int) func(string) HostSettings {
					calls := 0
					return func(string) HostSettings {
						if calls++; calls == panicking {
							panic("PerHost")
						}
						return HostSettings{Delay: 2 * time.Second}
					}
				}
				l := &Limiter{PerHost: perHost(tt.own), Within: &Limiter{Delay: -1, PerHost: perHost(tt.within)}}
				u := mustURL(t, "http://www.example.com/")
				first, err := l.Acquire(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				first.Done(Outcome{Status: 200})
				began := time.Now()
				func() {
					defer func() {
						if recover() == nil {
							t.Error("the panic does not reach the caller")
						}
					}()
					l.Acquire(t.Context(), u)
				}()
				for _, limiter := range []*Limiter{l, l.Within} {
					if s := limiter.Stats(); s.Waiting != 0 || s.InFlight != 0 {
						t.Errorf("%+v", s)
					}
				}
				next, err := l.Acquire(t.Context(), u)
				if err != nil || time.Since(began) != 2*time.Second {
					t.Errorf("the next request starts after %v: %v", time.Since(began), err)
				}
				next.Done(Outcome{})
			})
		})
	}
}

// A callback panics while its request waits or when it has just started. The
// request leaves the queue and frees its slot, so the next request to the host
// starts as if it had never been made.
func TestAcquire_CallbackPanics(t *testing.T) {
	waits := &Trace{Queued: func(time.Time, Reason) { panic("Queued") }}
	starts := &Trace{Granted: func(time.Time) { panic("Granted") }}
	observer := &Observer{Granted: func(ctx context.Context, _ Event) {
		if ctx.Value(panics{}) != nil {
			panic("Observer.Granted")
		}
	}}
	for name, with := range map[string]func(context.Context) context.Context{
		"Trace.Queued":     func(ctx context.Context) context.Context { return WithTrace(ctx, waits) },
		"Trace.Granted":    func(ctx context.Context) context.Context { return WithTrace(ctx, starts) },
		"Observer.Granted": func(ctx context.Context) context.Context { return context.WithValue(ctx, panics{}, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Observer: observer, Within: &Limiter{Key: DomainKey}}
				u := mustURL(t, "http://www.example.com/")
				first, err := l.Acquire(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				first.Done(Outcome{Status: 200})
				func() {
					defer func() {
						if recover() == nil {
							t.Error("the panic does not reach the caller")
						}
					}()
					l.Acquire(with(t.Context()), u)
				}()
				for _, limiter := range []*Limiter{l, l.Within} {
					if s := limiter.Stats(); s.Waiting != 0 || s.InFlight != 0 {
						t.Errorf("%+v", s)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				next, err := l.Acquire(ctx, u)
				if err != nil {
					t.Fatal(err)
				}
				next.Done(Outcome{})
			})
		})
	}
}
