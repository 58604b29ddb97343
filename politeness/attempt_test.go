package politeness

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// hanging is a Base that never answers. It returns an error when the request's
// context ends.
var hanging = roundTripFunc(func(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
})

// Each attempt ends at its own time, even if others begin before it or at the
// same moment.
func TestAttemptTimeout_OfManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		tr := &Transport{AttemptTimeout: timeout, Limiter: &Limiter{Delay: -1, Concurrency: 1000},
			Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/answered" {
					time.Sleep(timeout / 3)
					return answer(200, "")(r)
				}
				return hanging(r)
			})}
		random := rand.New(rand.NewPCG(1, 2))
		var begins []time.Duration // when each attempt begins, counted from start
		for range 200 {
			begins = append(begins, time.Duration(random.IntN(60_000))*time.Millisecond)
		}
		begins = append(begins, 0, 0, 5*time.Minute, 5*time.Minute+timeout, 5*time.Minute+timeout+1)
		start := time.Now()
		var wg sync.WaitGroup
		for i, begin := range begins {
			wg.Go(func() {
				time.Sleep(begin - time.Since(start))
				path, want := "/hangs", timeout
				if i%3 == 0 {
					path, want = "/answered", timeout/3
				}
				req, _ := http.NewRequest("GET", "http://example.com"+path, nil)
				resp, err := tr.RoundTrip(req)
				if took := time.Since(start) - begin; took != want {
					t.Errorf("RoundTrip of %s, called after %v, took %v, want %v", path, begin, took, want)
				}
				if (err != nil) != (want == timeout) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("RoundTrip of %s: error %v, want DeadlineExceeded: %t", path, err, want == timeout)
				}
				if err == nil {
					resp.Body.Close()
				}
			})
		}
		wg.Wait()
		if n := busy(tr.Limiter); n != 0 {
			t.Errorf("%d slots are taken, want 0", n)
		}
	})
}

// A request that gets no response is at least as slow as the time until it
// ends, whether its AttemptTimeout, its context or Base ends it. If its context
// ends it, Base notices that at once or later. After a response, only the
// response time counts.
func TestAttemptTimeout_Adaptive(t *testing.T) {
	for name, tt := range map[string]struct {
		base   func(*http.Request) (*http.Response, error)
		caller func(context.Context) (context.Context, context.CancelFunc)
		want   time.Duration
	}{
		"AttemptTimeout": {hanging, context.WithCancel, 20 * time.Second},
		"AttemptTimeout, noticed later": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			time.Sleep(time.Nanosecond)
			return nil, r.Context().Err()
		}, context.WithCancel, 20 * time.Second},
		"AttemptTimeout, ignored by Base": {func(r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return answer(200, "x")(r)
		}, context.WithCancel, 20 * time.Second},
		"context": {hanging, withTimeout(3 * time.Second), 15 * time.Second},
		"context, noticed later": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			time.Sleep(time.Nanosecond)
			return nil, r.Context().Err()
		}, withTimeout(3 * time.Second), 15 * time.Second},
		"failure": {func(*http.Request) (*http.Response, error) {
			time.Sleep(2 * time.Second)
			return nil, io.ErrUnexpectedEOF
		}, context.WithCancel, 10 * time.Second},
		"a body without end": {func(r *http.Request) (*http.Response, error) {
			time.Sleep(2 * time.Second)
			return answer(200, "x")(r)
		}, context.WithCancel, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Adaptive: 5}
				tr := &Transport{Limiter: l, AttemptTimeout: 4 * time.Second, Base: roundTripFunc(tt.base)}
				ctx, cancel := tt.caller(t.Context())
				defer cancel()
				began := time.Now()
				req, err := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
				if err != nil {
					t.Fatal(err)
				}
				tr.RoundTrip(req)
				time.Sleep(5 * time.Second)
				if due := l.Next(mustURL(t, "http://example.com/")).Sub(began); due != tt.want {
					t.Errorf("the host is due after %v, want %v", due, tt.want)
				}
				if n := busy(l); n != 0 {
					t.Errorf("%d slots are taken, want 0", n)
				}
			})
		})
	}
}

var errFed = errors.New("has enough pages")

// An attempt's context behaves like one that context.WithTimeout makes from the
// caller's context and AttemptTimeout.
func TestAttemptIsAContext(t *testing.T) {
	type key struct{}
	const timeout = 10 * time.Second
	tests := []struct {
		name     string
		caller   func(context.Context) (context.Context, context.CancelFunc)
		after    time.Duration // AttemptTimeout; negative means no timeout
		deadline time.Duration // 0 means no deadline
		ends     time.Duration
		err      error
		timedOut bool
		cause    error // nil means the cause is the same as the field err
	}{
		{"a caller without a deadline", context.WithCancel, timeout, timeout, timeout, context.DeadlineExceeded, true, nil},
		{"a caller with a later one", withTimeout(time.Minute), timeout, timeout, timeout, context.DeadlineExceeded, true, nil},
		{"a caller with an earlier one", withTimeout(time.Second), timeout, time.Second, time.Second, context.DeadlineExceeded, false, nil},
		{"a caller with a deadline, and no timeout", withTimeout(time.Second), -1, time.Second, time.Second, context.DeadlineExceeded, false, nil},
		{"a caller who leaves", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, timeout, timeout, time.Second, context.Canceled, false, nil},
		{"a caller that cancels with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(errFed) })
			return ctx, func() { cancel(nil) }
		}, timeout, timeout, time.Second, context.Canceled, false, errFed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				tr := &Transport{AttemptTimeout: tt.after, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
					ctx := r.Context()
					if ctx.Err() != nil {
						t.Errorf("Err at the start: %v, want nil", ctx.Err())
					}
					if d, ok := ctx.Deadline(); ok != (tt.deadline > 0) || ok && d.Sub(start) != tt.deadline {
						t.Errorf("Deadline: %v, %v; want %v", d.Sub(start), ok, tt.deadline)
					}
					if ctx.Value(key{}) != "the caller's" {
						t.Errorf("the value of the caller's context is %v, want %q", ctx.Value(key{}), "the caller's")
					}
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					grandchild, cancel := context.WithTimeout(context.WithValue(child, key{}, "the base's"), time.Hour)
					defer cancel()
					<-grandchild.Done()
					if took := time.Since(start); took != tt.ends {
						t.Errorf("a context derived from the attempt's ended after %v, want %v", took, tt.ends)
					}
					if ctx.Err() != tt.err {
						t.Errorf("Err of the attempt's context at its end: %v, want %v", ctx.Err(), tt.err)
					}
					for _, derived := range []context.Context{child, grandchild} {
						if derived.Err() != tt.err || context.Cause(derived) != context.Cause(ctx) {
							t.Errorf("a derived context has Err %v and Cause %v, want %v and %v", derived.Err(), context.Cause(derived), tt.err, context.Cause(ctx))
						}
					}
					if cause := cmp.Or(tt.cause, tt.err); context.Cause(ctx) != cause {
						t.Errorf("Cause of the attempt's context at its end: %v, want %v", context.Cause(ctx), cause)
					}
					return nil, child.Err()
				})}
				ctx, cancel := tt.caller(context.WithValue(t.Context(), key{}, "the caller's"))
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
				_, err := tr.RoundTrip(req)
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				if errors.Is(err, context.Canceled) != (tt.err == context.Canceled) {
					t.Errorf("error %v: errors.Is(err, context.Canceled) = %t, want %t", err, tt.err != context.Canceled, tt.err == context.Canceled)
				}
				var timeout *timeoutError
				if errors.As(err, &timeout) != tt.timedOut {
					t.Errorf("RoundTrip: error %v, want one that wraps a timeoutError: %t", err, tt.timedOut)
				}
			})
		})
	}
}

func withTimeout(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

// The memory of an attempt that is over is freed, even if no caller closed its
// body and the caller's context has not ended.
func TestAttemptThatIsOverIsNotKept(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		over    func(body io.Closer, leave context.CancelFunc)
	}{
		{"its body was closed", time.Hour, func(body io.Closer, _ context.CancelFunc) { body.Close() }},
		{"its time is over, and its body was abandoned", time.Minute, func(io.Closer, context.CancelFunc) { time.Sleep(time.Minute) }},
		{"its caller has left, and its body was abandoned", time.Hour, func(_ io.Closer, leave context.CancelFunc) { leave() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				crawl, end := context.WithCancel(t.Context())
				defer end()
				caller, leave := context.WithCancel(crawl)
				defer leave()
				limiter := new(Limiter)
				tr, kept := func() (weak.Pointer[Transport], weak.Pointer[attempt]) {
					var kept weak.Pointer[attempt]
					tr := &Transport{AttemptTimeout: tt.timeout, Limiter: limiter, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
						return answer(200, "hello")(r)
					})}
					req, _ := http.NewRequestWithContext(caller, "GET", "http://example.com/", nil)
					resp, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					kept = weak.Make(resp.Body.(*body).attempt)
					tt.over(resp.Body, leave)
					return weak.Make(tr), kept
				}()
				synctest.Wait()
				runtime.GC()
				if kept.Value() != nil {
					t.Error("the attempt is still in memory, want it collected")
				}
				if tr.Value() != nil {
					t.Error("the Transport is still in memory, want it collected")
				}
				if n := busy(limiter); n != 0 {
					t.Errorf("%d slots are taken, want 0", n)
				}
			})
		})
	}
}

func TestAllocationsOfAnAttempt(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	req, _ := http.NewRequest("GET", "http://example.com/", nil)
	resp := &http.Response{StatusCode: 200, Body: http.NoBody}
	base := roundTripFunc(func(*http.Request) (*http.Response, error) { return resp, nil })
	const most = 38 // twice what it takes
	tr := &Transport{Base: base, Limiter: &Limiter{Delay: time.Nanosecond}}
	if n := testing.AllocsPerRun(100, func() { tr.RoundTrip(req) }); n > most {
		t.Errorf("RoundTrip makes %v allocations, want at most %v", n, most)
	}
}

// Many attempts end in random ways: by timeout or cancellation, at the end of
// the body, or by an error or panic of Base. No slot is lost, and no request
// hangs.
func TestAttemptsEndAtOnce(t *testing.T) {
	for _, timeout := range []time.Duration{1, 300 * time.Microsecond, 2 * time.Millisecond, time.Hour} {
		tr := &Transport{AttemptTimeout: timeout, Limiter: &Limiter{Delay: -1, Concurrency: 1000},
			Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				ctx, cancel := context.WithCancel(r.Context())
				switch rand.IntN(5) {
				case 0:
					defer cancel()
					return nil, io.ErrUnexpectedEOF
				case 1:
					defer cancel()
					panic(io.ErrUnexpectedEOF)
				case 2:
					if _, ok := ctx.Deadline(); ok && timeout < time.Hour {
						<-ctx.Done()
					}
				case 3:
					context.AfterFunc(ctx, func() {})
				}
				resp, err := answer(200, "hello")(r)
				resp.Body = &canceling{resp.Body, cancel}
				return resp, err
			})}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 40 {
					ctx, cancel := context.WithCancel(t.Context())
					if rand.IntN(3) == 0 {
						ctx = context.Background()
					}
					leave := cancel
					switch rand.IntN(3) {
					case 0:
						go cancel()
						leave = func() {}
					case 1:
						leave = func() { go cancel() }
					}
					attemptAndEnd(ctx, tr)
					leave()
					cancel()
				}
			})
		}
		wg.Wait()
		for busy(tr.Limiter) != 0 && timeout < time.Hour {
			time.Sleep(time.Millisecond) // until AttemptTimeout has ended the attempts whose bodies were abandoned
		}
		if n := busy(tr.Limiter); n != 0 {
			t.Errorf("AttemptTimeout %v: %d slots are taken, want 0", timeout, n)
		}
	}
}

// attemptAndEnd makes a request, and reads, closes or abandons the body at
// random.
func attemptAndEnd(ctx context.Context, tr *Transport) {
	defer func() { recover() }()
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return
	}
	switch rand.IntN(3) {
	case 0:
		if tr.AttemptTimeout < time.Hour {
			return // the body is abandoned
		}
	case 1:
		io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}

// canceling is a body that cancels a context when the body ends or is closed,
// as some bodies of net/http do.
type canceling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *canceling) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cancel()
	}
	return n, err
}

func (b *canceling) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// A closingBody records the state of its request when it is closed.
type closingBody struct {
	io.Reader
	onClose func()
}

func (b *closingBody) Close() error {
	b.onClose()
	return nil
}

// net/http of Go 1.27 makes the server send up to 256 KiB more when a body is
// closed early, unless the request was canceled before. The slot must not be
// free while the connection is still being closed, or the next request would
// overlap with this one.
func TestClose_CancelsThenClosesThenFreesTheSlot(t *testing.T) {
	for name, read := range map[string]func(io.Reader){
		"unread":        func(io.Reader) {},
		"partly read":   func(r io.Reader) { r.Read(make([]byte, 3)) },
		"read together": func(r io.Reader) { io.ReadFull(r, make([]byte, len("a page"))) },
	} {
		t.Run(name, func(t *testing.T) {
			limiter := &Limiter{Delay: -1}
			var ctx context.Context
			closed := false
			body := &closingBody{Reader: strings.NewReader("a page"), onClose: func() {
				closed = true
				if err := ctx.Err(); err != context.Canceled {
					t.Errorf("when the body is closed, the request's context has the error %v, want %v", err, context.Canceled)
				}
				if n := limiter.Stats().InFlight; n != 1 {
					t.Errorf("when the body is closed, %d requests hold a slot, want 1", n)
				}
			}}
			tr := &Transport{Limiter: limiter, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				ctx = r.Context()
				return &http.Response{StatusCode: 200, Request: r, Body: body}, nil
			})}
			resp, err := tr.RoundTrip(newGet(t, "http://example.com/"))
			if err != nil {
				t.Fatal(err)
			}
			read(resp.Body)
			if err := resp.Body.Close(); err != nil || !closed {
				t.Errorf("Close = %v, closed: %t; want nil, true", err, closed)
			}
			if n := limiter.Stats().InFlight; n != 0 {
				t.Errorf("after Close, %d requests hold a slot, want 0", n)
			}
		})
	}
}

// A switch to another protocol that was not requested is closed in the same
// order.
func TestUnrequestedSwitch_IsCanceledBeforeItIsClosed(t *testing.T) {
	var ctx context.Context
	var atClose error
	body := &closingBody{Reader: strings.NewReader(""), onClose: func() { atClose = ctx.Err() }}
	tr := &Transport{Limiter: &Limiter{Delay: -1}, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
		ctx = r.Context()
		return &http.Response{StatusCode: 101, Request: r, Body: body}, nil
	})}
	if _, err := tr.RoundTrip(newGet(t, "http://example.com/")); err == nil {
		t.Error("RoundTrip of a response with status 101: no error, want one")
	}
	if atClose != context.Canceled {
		t.Errorf("when the body was closed, the request's context had the error %v, want %v", atClose, context.Canceled)
	}
	if n := tr.Limiter.Stats().InFlight; n != 0 {
		t.Errorf("%d requests hold a slot, want 0", n)
	}
}

// A server that stops reading its HTTP/2 connection can block Close. The slot
// is free at the end of AttemptTimeout nevertheless.
func TestAttemptTimeout_FreesTheSlotOfABodyThatCannotBeClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unblock := make(chan struct{})
		body := &closingBody{Reader: strings.NewReader(""), onClose: func() { <-unblock }}
		tr := &Transport{Limiter: &Limiter{Delay: -1}, AttemptTimeout: 10 * time.Second,
			Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Request: r, Body: body}, nil
			})}
		resp, err := tr.RoundTrip(newGet(t, "http://example.com/"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		go resp.Body.Close()
		for _, want := range []int{1, 0} {
			time.Sleep(5 * time.Second) // first until 9 s, and then until 14 s
			if n := tr.Limiter.Stats().InFlight; n != want {
				t.Errorf("%d requests hold a slot, want %d", n, want)
			}
		}
		close(unblock)
	})
}
