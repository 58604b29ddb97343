package politeness

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
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
				mustPanic(t, func() { l.Acquire(t.Context(), u) })
				mustBeFree(t, l)
				next, err := l.Acquire(t.Context(), u)
				if err != nil || time.Since(began) != 2*time.Second {
					t.Errorf("the next request starts after %v, error %v; want 2s and none", time.Since(began), err)
				}
				next.Done(Outcome{})
			})
		})
	}
}

// mustPanic calls f, which must panic.
func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("RoundTrip did not panic, want the panic of Base")
		}
	}()
	f()
}

// mustBeFree reports an error if requests wait or hold a slot in l or in its
// Within.
func mustBeFree(t *testing.T, l *Limiter) {
	t.Helper()
	for ; l != nil; l = l.Within {
		if s := l.Stats(); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("Stats() = %+v, want none waiting or in flight", s)
		}
	}
}

// A closeCounter is the body of a response.
type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

// An Observer panics when a response is received, when the response pauses the
// host, or when the request ends. In each case, the slot is free immediately,
// the body is closed, and the context of the request has ended. Otherwise, the
// host would be blocked until AttemptTimeout or Lease has passed, and the
// connection would stay open.
func TestTransport_ObserverPanics(t *testing.T) {
	panicking := func(what string) func(context.Context, Event) {
		return func(ctx context.Context, _ Event) {
			if ctx.Value(panics{}) != nil {
				panic(what)
			}
		}
	}
	for name, observer := range map[string]*Observer{
		"Answered":  {Answered: panicking("Answered")},
		"BackedOff": {BackedOff: panicking("BackedOff")},
		"Ended":     {Ended: panicking("Ended")},
	} {
		for _, hasBody := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " with a body", false: " without a body"}[hasBody], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var body *closeCounter
					var sent context.Context
					tr := &Transport{
						AttemptTimeout: -1,
						Limiter:        &Limiter{Observer: observer, Within: &Limiter{Key: DomainKey}},
						Base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
							sent = req.Context()
							resp := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"9"}}, Body: http.NoBody}
							body = &closeCounter{Reader: strings.NewReader("wait")}
							if hasBody {
								resp.Body = body
							}
							return resp, nil
						}),
					}
					request := func(ctx context.Context) error {
						req, _ := http.NewRequestWithContext(ctx, "GET", "http://www.example.com/", nil)
						resp, err := tr.RoundTrip(req)
						if err != nil {
							return err
						}
						return resp.Body.Close()
					}
					began := time.Now()
					mustPanic(t, func() { request(context.WithValue(t.Context(), panics{}, true)) })
					mustBeFree(t, tr.Limiter)
					if hasBody && body.closed != 1 {
						t.Errorf("the body was closed %d times, want 1", body.closed)
					}
					if sent.Err() == nil {
						t.Error("the context of the request has not ended after the panic, want it canceled")
					}
					err := request(t.Context())
					if wait := time.Since(began); err != nil || wait != 9*time.Second {
						t.Errorf("the next request starts after %v, error %v; want 9s, the Retry-After, and none", wait, err)
					}
				})
			})
		}
	}
}

// Base fails, and the Observer panics when the request is over.
func TestTransport_ObserverPanicsAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent context.Context
		tr := &Transport{
			AttemptTimeout: -1,
			Limiter:        &Limiter{Observer: &Observer{Ended: func(context.Context, Event) { panic("Ended") }}},
			Base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
				sent = req.Context()
				return nil, errors.New("connection reset")
			}),
		}
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://www.example.com/", nil)
		mustPanic(t, func() { tr.RoundTrip(req) })
		mustBeFree(t, tr.Limiter)
		if sent.Err() == nil {
			t.Error("the context of the request has not ended after the panic, want it canceled")
		}
	})
}

// An Observer panics in Grant.Done. The slots of all Limiters are free.
func TestGrantDone_ObserverPanics(t *testing.T) {
	panicking := func(context.Context, Event) { panic("observer") }
	for name, observer := range map[string]*Observer{
		"Answered":  {Answered: panicking},
		"BackedOff": {BackedOff: panicking},
		"Ended":     {Ended: panicking},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Observer: observer, Within: &Limiter{Key: DomainKey}}
				g, err := l.Acquire(t.Context(), mustURL(t, "http://www.example.com/"))
				if err != nil {
					t.Fatal(err)
				}
				mustPanic(t, func() { g.Done(Outcome{Status: 503}) })
				mustBeFree(t, l)
				g.Done(Outcome{}) // only the first call counts
			})
		})
	}
}

// Key or the Key of Within panics. The request is in no queue, and the next
// request starts as if the first had not been made. The same applies to Next.
func TestAcquire_KeyPanics(t *testing.T) {
	for name, isWithin := range map[string]bool{"Key": false, "Key of Within": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				key := func(ctx context.Context, u *url.URL) (string, error) {
					if u.Path == "/panic" {
						panic("Key")
					}
					return HostKey(ctx, u)
				}
				l := &Limiter{Within: new(Limiter)}
				if isWithin {
					l.Within.Key = key
				} else {
					l.Key = key
				}
				bad := mustURL(t, "http://www.example.com/panic")
				mustPanic(t, func() { l.Acquire(t.Context(), bad) })
				mustPanic(t, func() { l.Next(bad) })
				mustBeFree(t, l)
				began := time.Now()
				g, err := l.Acquire(t.Context(), mustURL(t, "http://www.example.com/"))
				if err != nil || time.Since(began) != 0 {
					t.Errorf("the next request starts after %v, error %v; want at once, without an error", time.Since(began), err)
				}
				g.Done(Outcome{})
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
				mustPanic(t, func() { l.Acquire(with(t.Context()), u) })
				mustBeFree(t, l)
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
