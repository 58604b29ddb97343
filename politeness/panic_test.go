package politeness

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// panics is the context key of a request whose Observer panics.
type panics struct{}

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
