package politeness

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer returns a Base that answers at once. The last arguments are the header
// of the answer: a name, a value, the next name, and so on.
func answer(status int, body string, header ...string) roundTripFunc {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Request: r, ContentLength: int64(len(body)),
			Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func get(t testing.TB, rt http.RoundTripper, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestZeroTransportPacesByTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: answer(200, "hello")}
		zero := time.Now()
		for i := range 3 {
			resp := get(t, tr, "http://example.com/")
			if got, want := time.Since(zero), time.Duration(i)*time.Second; got != want {
				t.Errorf("request %d started after %v, want %v", i, got, want)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A request that would have to wait for longer than http.Client.Timeout is
// rejected, because this timeout includes the wait.
func TestClientTimeoutShorterThanTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &http.Client{Timeout: 5 * time.Second,
			Transport: &Transport{Base: answer(200, ""), Limiter: &Limiter{Delay: 10 * time.Second}}}
		resp, err := c.Get("http://example.com/1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		zero := time.Now()
		_, err = c.Get("http://example.com/2")
		var d *DelayError
		if !errors.As(err, &d) || d.Until.Sub(zero) != 10*time.Second {
			t.Fatalf("the second Get: error %v, want a DelayError until 10s from now", err)
		}
		if time.Since(zero) != 0 {
			t.Errorf("the second Get is rejected after %v, want at once", time.Since(zero))
		}
	})
}

// The second request of a redirect has to wait for the interval after the
// first. If MaxWait rejected it, each retry would be rejected too, and the
// first request would be made for nothing each time.
func TestRedirectWaitsLongerThanMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			delay, maxWait time.Duration
			retryAfter     string        // of the redirect
			takes          time.Duration // 0: rejected
		}{
			{time.Second, -1, "", time.Second},
			{time.Hour, -1, "", time.Hour},
			{time.Hour, time.Second, "", time.Hour},
			{time.Second, -1, "60", time.Minute},
			{time.Second, -1, "61", 0},
			{time.Second, time.Second, "61", time.Minute + time.Second},
			{time.Second, time.Second, "62", 0},
			{time.Second, 0, "3600", time.Hour},
		} {
			var paths []string
			client := &http.Client{Transport: &Transport{
				Limiter: &Limiter{Delay: c.delay, MaxWait: c.maxWait},
				Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
					paths = append(paths, r.URL.Path)
					if r.URL.Path == "/old" {
						return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"/new"}, "Retry-After": {c.retryAfter}}, Body: http.NoBody, Request: r}, nil
					}
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
				}),
			}}
			zero := time.Now()
			_, err := client.Get("http://example.com/old")
			_, rejected := errors.AsType[*DelayError](err)
			if rejected != (c.takes == 0) || time.Since(zero) != c.takes || !rejected && (err != nil || len(paths) != 2) {
				t.Errorf("Delay %v, MaxWait %v, Retry-After %q: error %v, requests for %v within %v; want %v (0s means rejected)", c.delay, c.maxWait, c.retryAfter, err, paths, time.Since(zero), c.takes)
			}
		}
	})
}

// The interval after a redirect may be longer than Delay and MaxCrawlDelay: it
// includes Jitter, or is an adaptive delay or that of a Within.
func TestRedirectWaitsForTheLongestInterval(t *testing.T) {
	for name, l := range map[string]*Limiter{
		"Jitter":   {Delay: 2 * time.Minute, Jitter: 0.5, EndToStart: true},
		"Adaptive": {Delay: time.Second, MaxCrawlDelay: time.Second, Adaptive: 10},
		"Within":   {MaxCrawlDelay: time.Second, Within: &Limiter{Delay: 10 * time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l.MaxWait = -1
			client := &http.Client{Transport: &Transport{
				Limiter: l,
				Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
					time.Sleep(4 * time.Second) // an adaptive delay of 40 s
					resp := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}
					if r.URL.Path == "/old" {
						resp.StatusCode = http.StatusFound
						resp.Header = http.Header{"Location": {"/new"}}
					}
					return resp, nil
				}),
			}}
			if _, err := client.Get("http://example.com/old"); err != nil {
				t.Errorf("%s: the request after the redirect: %v, want no error", name, err)
			}
		})
	}
}

type countingBody struct {
	io.Reader
	closed atomic.Int32
	err    error // what Close returns
}

func (b *countingBody) Close() error {
	b.closed.Add(1)
	return b.err
}

// busy() returns how many requests hold a slot.
func busy(l *Limiter) int { return l.Stats().InFlight }

func TestRoundTripperContract(t *testing.T) {
	t.Run("the request is not changed", func(t *testing.T) {
		req := httptest.NewRequest("POST", "http://example.com/a", strings.NewReader("x"))
		req.Header.Set("User-Agent", "ExampleBot/1.0")
		before := *req
		header := req.Header.Clone()
		tr := &Transport{Base: answer(200, "hello")}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if !reflect.DeepEqual(before, *req) || !reflect.DeepEqual(header, req.Header) {
			t.Errorf("RoundTrip changed the request to %+v, want %+v", *req, before)
		}
		if resp.Request != req {
			t.Error("resp.Request is not the request that was passed to RoundTrip, want that one")
		}
		if resp.Request.Context().Err() != nil {
			t.Errorf("the context of resp.Request has Err %v after the body was closed, want nil", resp.Request.Context().Err())
		}
	})

	t.Run("the body is closed when the request is rejected", func(t *testing.T) {
		l := &Limiter{MaxWait: -1}
		g, _ := l.Acquire(t.Context(), mustURL(t, "http://example.com/"))
		defer g.Done(Outcome{})
		body := &countingBody{Reader: strings.NewReader("x")}
		req := httptest.NewRequest("POST", "http://example.com/", body)
		_, err := (&Transport{Limiter: l}).RoundTrip(req)
		if _, ok := errors.AsType[*DelayError](err); !ok || body.closed.Load() == 0 {
			t.Errorf("RoundTrip: error %v, and the body was closed %d times; want a DelayError, at least once", err, body.closed.Load())
		}
	})

	t.Run("the body is closed when the context has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		body := &countingBody{Reader: strings.NewReader("x")}
		req := httptest.NewRequestWithContext(ctx, "POST", "http://example.com/", body)
		_, err := (&Transport{}).RoundTrip(req)
		if !errors.Is(err, context.Canceled) || body.closed.Load() == 0 {
			t.Errorf("RoundTrip: error %v, and the body was closed %d times; want Canceled, at least once", err, body.closed.Load())
		}
	})

	t.Run("the same response is handed on", func(t *testing.T) {
		want := &http.Response{StatusCode: 200, ContentLength: 5, Uncompressed: true, Header: http.Header{"X": {"y"}},
			Trailer: http.Header{"Sum": nil}, TransferEncoding: []string{"chunked"}, TLS: new(tls.ConnectionState),
			Body: io.NopCloser(strings.NewReader("hello"))}
		copied := *want
		tr := &Transport{Base: roundTripFunc(func(r *http.Request) (*http.Response, error) { return want, nil })}
		got := get(t, tr, "http://example.com/")
		defer got.Body.Close()
		if got != want {
			t.Error("RoundTrip returned another response than Base, want the same one")
		}
		copied.Body = got.Body
		if !reflect.DeepEqual(&copied, got) {
			t.Errorf("RoundTrip returned the response %+v, want it unchanged but for its body: %+v", got, &copied)
		}
	})

	t.Run("no body needs no wrapping", func(t *testing.T) {
		l := &Limiter{}
		for _, body := range []io.ReadCloser{nil, http.NoBody} {
			tr := &Transport{Limiter: l, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 204, Body: body}, nil
			})}
			if resp := get(t, tr, fmt.Sprintf("http://%T.example/", body)); resp.Body != body || busy(l) != 0 {
				t.Errorf("%T: the body is a %T, %d in flight; want the same body, none in flight", body, resp.Body, busy(l))
			}
		}
	})

	t.Run("errors of Base are returned unchanged and free the slot", func(t *testing.T) {
		l, broken := &Limiter{}, errors.New("connection reset")
		tr := &Transport{Limiter: l, Base: roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, broken })}
		_, err := tr.RoundTrip(httptest.NewRequest("GET", "http://example.com/", nil))
		if err != broken || busy(l) != 0 {
			t.Errorf("RoundTrip: error %v, and %d requests are in flight; want %v, none", err, busy(l), broken)
		}
	})

	t.Run("a panic of Base frees the slot", func(t *testing.T) {
		l := &Limiter{}
		tr := &Transport{Limiter: l, Base: roundTripFunc(func(*http.Request) (*http.Response, error) { panic("oops") })}
		func() {
			defer func() { recover() }()
			tr.RoundTrip(httptest.NewRequest("GET", "http://example.com/", nil))
		}()
		if busy(l) != 0 {
			t.Errorf("%d slots are taken, want 0", busy(l))
		}
	})

	t.Run("a Base that returns nothing", func(t *testing.T) {
		l := &Limiter{}
		tr := &Transport{Limiter: l, Base: roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, nil })}
		if _, err := tr.RoundTrip(httptest.NewRequest("GET", "http://example.com/", nil)); err == nil || busy(l) != 0 {
			t.Errorf("RoundTrip: error %v, and %d requests are in flight; want an error, none", err, busy(l))
		}
	})

	t.Run("CloseIdleConnections is passed on", func(t *testing.T) {
		base := &idleCloser{}
		(&http.Client{Transport: &Transport{Base: base}}).CloseIdleConnections()
		if !base.closed {
			t.Error("CloseIdleConnections did not call the method of Base, want a call")
		}
		(&Transport{Base: answer(200, "")}).CloseIdleConnections() // this Base has no such method
	})

	t.Run("a request without a host is passed to Base at once", func(t *testing.T) {
		tr := &Transport{Base: answer(200, "")}
		for range 3 {
			get(t, tr, "file:///etc/hostname").Body.Close()
		}
		if s := tr.own.Stats(); s.Hosts != 0 {
			t.Errorf("Stats() = %+v, want no hosts", s)
		}
	})
}

type idleCloser struct {
	http.RoundTripper
	closed bool
}

func (c *idleCloser) CloseIdleConnections() { c.closed = true }

// The slot is freed exactly once, whatever ends the body.
func TestSlotIsHeldToTheBodysEnd(t *testing.T) {
	broken := errors.New("connection reset")
	tests := []struct {
		name string
		body io.Reader
		end  func(t *testing.T, body io.ReadCloser, cancel func())
		held time.Duration // how long the slot is held after the call of end()
	}{
		{"read to EOF", strings.NewReader("hello"), func(t *testing.T, b io.ReadCloser, _ func()) { io.Copy(io.Discard, b) }, 0},
		{"closed unread", strings.NewReader("hello"), func(t *testing.T, b io.ReadCloser, _ func()) { b.Close() }, 0},
		{"closed twice and read on", strings.NewReader("hello"), func(t *testing.T, b io.ReadCloser, _ func()) {
			b.Close()
			b.Read(make([]byte, 1))
			b.Close()
		}, 0},
		{"a read error", &failingReader{broken}, func(t *testing.T, b io.ReadCloser, _ func()) {
			if _, err := b.Read(make([]byte, 1)); err != broken {
				t.Errorf("Read of the body: error %v, want %v, the body's own", err, broken)
			}
		}, 0},
		{"the caller's context ends", strings.NewReader("hello"), func(_ *testing.T, _ io.ReadCloser, cancel func()) { cancel() }, 0},
		{"nothing at all", strings.NewReader("hello"), func(*testing.T, io.ReadCloser, func()) {}, 20 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{}
				tr := &Transport{Limiter: l, AttemptTimeout: 20 * time.Second,
					Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: 200, Body: io.NopCloser(tt.body)}, nil
					})}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if busy(l) != 1 {
					t.Fatalf("%d slots are taken before the end of the body, want 1", busy(l))
				}
				tt.end(t, resp.Body, cancel)
				synctest.Wait()
				if tt.held > 0 {
					time.Sleep(tt.held - time.Nanosecond)
					if busy(l) != 1 {
						t.Fatalf("%d slots are taken shortly before %v, want 1", busy(l), tt.held)
					}
					time.Sleep(time.Nanosecond)
					synctest.Wait()
				}
				if busy(l) != 0 {
					t.Errorf("%d slots are taken at the end, want 0", busy(l))
				}
			})
		})
	}
}

type failingReader struct{ err error }

func (r *failingReader) Read([]byte) (int, error) { return 0, r.err }

// AttemptTimeout runs from the end of the wait to the end of the body.
func TestAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := roundTripFunc(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(4 * time.Second):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(&trickle{r.Context()})}, nil
		})
		tr := &Transport{Base: slow, AttemptTimeout: 5 * time.Second, Limiter: &Limiter{Delay: time.Minute}}
		get(t, tr, "http://example.com/").Body.Close()
		zero := time.Now()
		resp := get(t, tr, "http://example.com/") // this request waits for 56 s, and is answered 4 s later
		if waited := time.Since(zero); waited != time.Minute {
			t.Errorf("the second response came after %v, want 1m0s", waited)
		}
		_, err := io.ReadAll(resp.Body)
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "AttemptTimeout, 5s") {
			t.Errorf("reading the body: error %v, want a timeout that names AttemptTimeout", err)
		}
		if took := time.Since(zero); took != time.Minute+time.Second {
			t.Errorf("the body ended after %v, want 1m1s", took)
		}

		tr = &Transport{Base: slow, AttemptTimeout: 3 * time.Second}
		_, err = tr.RoundTrip(httptest.NewRequest("GET", "http://example.com/", nil))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "AttemptTimeout, 3s") {
			t.Errorf("RoundTrip: error %v, want DeadlineExceeded with %q", err, "AttemptTimeout, 3s")
		}

		tr = &Transport{Base: slow, AttemptTimeout: -1}
		resp = get(t, tr, "http://example.com/")
		time.Sleep(time.Hour)
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Errorf("reading the body after an hour, without a timeout: error %v, want none", err)
		}
		resp.Body.Close()
	})
}

// trickle is a body that yields a byte every 100 ms until its request's context
// ends.
type trickle struct{ ctx context.Context }

func (r *trickle) Read(p []byte) (int, error) {
	select {
	case <-time.After(100 * time.Millisecond):
		return copy(p, "x"), nil
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

// An open body keeps its slot, also one that is being read. If a request waits
// for this slot, the log names the body once. The first response arrives at the
// moment at which the Limiter is used for the first time.
func TestUnreadBodyIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &Limiter{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		tr := &Transport{Limiter: l, Base: answer(200, strings.Repeat("x", 100)), AttemptTimeout: time.Minute}

		reading := get(t, tr, "http://example.com/being-read")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20 {
				reading.Body.Read(make([]byte, 1))
				time.Sleep(time.Second)
			}
			reading.Body.Close()
		}()
		get(t, tr, "http://example.com/left-open?password=secret") // before it is sent, it waits for 20 s until the first body is closed
		<-done
		if n := strings.Count(log.String(), "being-read"); n != 1 {
			t.Errorf("the log mentions the body that is being read %d times, want once: %s", n, &log)
		}

		zero := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { get(t, tr, "http://example.com/next").Body.Close() })
		}
		wg.Wait()
		if waited := time.Since(zero); waited < 59*time.Second {
			t.Errorf("the requests waited %v, want 59s at least, the AttemptTimeout", waited)
		}
		if n := strings.Count(log.String(), "left-open"); n != 1 || !strings.Contains(log.String(), "host=example.com") {
			t.Errorf("the log mentions the unread body %d times, want once, with host=example.com: %s", n, &log)
		}
	})
}

// The slot that a request waits for belongs to Within, and the open body is
// that of another host. The log names the body once, although a request to that
// host waits for it too.
func TestUnreadBodyOfAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &Limiter{Delay: -1, Logger: slog.New(slog.NewTextHandler(&log, nil)), Within: &Limiter{Delay: -1, Key: DomainKey}}
		tr := &Transport{Limiter: l, Base: answer(200, "x"), AttemptTimeout: time.Minute}
		zero := time.Now()
		get(t, tr, "http://a.example.com/left-open")
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { get(t, tr, "http://b.example.com/next").Body.Close() })
		synctest.Wait()
		time.Sleep(time.Second)
		wg.Go(func() { get(t, tr, "http://a.example.com/next").Body.Close() })
		wg.Wait()
		if n := strings.Count(log.String(), "left-open"); n != 1 {
			t.Errorf("the log mentions the unread body %d times, want once: %s", n, &log)
		}
		for _, want := range []string{"host=b.example.com", "within=example.com", "open_for=7s", zero.Add(7 * time.Second).Format("15:04:05")} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not contain %q: %s", want, &log)
			}
		}
		if waited := time.Since(zero); waited != time.Minute {
			t.Errorf("the requests started after %v, want the AttemptTimeout of 1m0s", waited)
		}
	})
}

// An unread body is reported even if the next request had begun to wait before
// the response came.
func TestUnreadBodyOfASlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		zero := time.Now()
		l := &Limiter{Logger: slog.New(slog.NewTextHandler(&log, nil)), Lease: time.Second}
		tr := &Transport{Limiter: l, AttemptTimeout: time.Hour, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second)
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x"))}, nil
		})}
		go func() {
			if _, err := tr.RoundTrip(httptest.NewRequest("GET", "http://example.com/left-open", nil)); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second)
		defer cancel()
		l.Acquire(ctx, mustURL(t, "http://example.com/"))
		if n := strings.Count(log.String(), "left-open"); n != 1 {
			t.Errorf("the log mentions the unread body %d times, want once: %s", n, &log)
		}
		if at := zero.Add(15 * time.Second).Format("15:04:05"); !strings.Contains(log.String(), at) {
			t.Errorf("the log has no line of %s, 5s after the response, want one: %s", at, &log)
		}
		if busy(l) != 1 {
			t.Errorf("%d slots are taken after a Lease shorter than AttemptTimeout, want 1", busy(l))
		}
		time.Sleep(time.Hour)
	})
}

// A body is open. A second request takes a slot too, and is on its way for
// longer than the delay, so the third request begins to wait for a slot before
// the second is sent. The log names the open body all the same.
func TestUnreadBodyWhileAnotherIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		zero := time.Now()
		l := &Limiter{Concurrency: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			trace.GetConn("example.com:80")
			if r.URL.Path == "/slow" {
				time.Sleep(2 * time.Second)
			}
			trace.WroteHeaders()
			if r.URL.Path == "/slow" {
				time.Sleep(20 * time.Second)
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x"))}, nil
		})
		tr := &Transport{Limiter: l, Base: base, AttemptTimeout: time.Minute}
		get(t, tr, "http://example.com/left-open")
		var wg sync.WaitGroup
		for _, path := range []string{"slow", "next"} {
			wg.Go(func() { get(t, tr, "http://example.com/"+path).Body.Close() })
			synctest.Wait()
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "left-open"); n != 1 {
			t.Errorf("after %v, the log mentions the open body %d times, want once: %s", time.Since(zero), n, &log)
		}
		wg.Wait()
	})
}

// The bodies of two responses are left open. The log names both while one
// request waits.
func TestUnreadBodiesOfTwoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &Limiter{Delay: -1, Concurrency: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		tr := &Transport{Limiter: l, AttemptTimeout: time.Minute, Base: answer(200, "x")}
		get(t, tr, "http://example.com/left-open")
		get(t, tr, "http://example.com/left-open-too")
		get(t, tr, "http://example.com/next").Body.Close()
		for _, path := range []string{"/left-open ", "/left-open-too "} {
			if n := strings.Count(log.String(), path); n != 1 {
				t.Errorf("the log mentions %q %d times, want once: %s", path, n, &log)
			}
		}
		time.Sleep(time.Minute) // AttemptTimeout closes the open bodies
	})
}

// The response to the oldest request has not come yet. The log names the open
// body of another request, which holds a slot too.
func TestUnreadBodyOfALaterRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &Limiter{Concurrency: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		tr := &Transport{Limiter: l, AttemptTimeout: time.Minute, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/slow" {
				time.Sleep(25 * time.Second)
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x"))}, nil
		})}
		var wg sync.WaitGroup
		wg.Go(func() { get(t, tr, "http://example.com/slow").Body.Close() })
		synctest.Wait()
		get(t, tr, "http://example.com/left-open")
		wg.Go(func() { get(t, tr, "http://example.com/next").Body.Close() })
		wg.Wait()
		if n := strings.Count(log.String(), "left-open"); n != 1 {
			t.Errorf("the log mentions the open body %d times, want once: %s", n, &log)
		}
		time.Sleep(time.Minute) // AttemptTimeout closes the open body
	})
}

// After 101 Switching Protocols, the body is the connection, and can be written
// to. AttemptTimeout frees the slot but does not end the connection.
func TestSwitchingProtocols(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		rw.Flush()
		line, _ := rw.ReadString('\n')
		rw.WriteString("echo " + line)
		rw.Flush()
	}))
	defer srv.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	l := &Limiter{}
	tr := &Transport{Base: base, Limiter: l, AttemptTimeout: time.Second}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL, nil)
	req.Header.Set("Connection", "upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("the body is a %T, want an io.ReadWriteCloser", resp.Body)
	}
	for busy(l) != 0 { // wait until AttemptTimeout frees the slot
		time.Sleep(time.Millisecond)
	}
	io.WriteString(conn, "hello\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if line != "echo hello\n" || err != nil {
		t.Errorf("the server sent %q, error %v; want %q, none", line, err, "echo hello\n")
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "AttemptTimeout") {
		t.Errorf("reading after Close: error %v, want one that does not mention AttemptTimeout", err)
	}
}

// If a server switches to another protocol although the request has no Upgrade
// field, RoundTrip returns an error. Otherwise the response's body would be a
// connection that no timeout ends.
func TestProtocolSwitchedUnasked(t *testing.T) {
	body := new(countingBody)
	base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101, Header: http.Header{"Upgrade": {"x"}}, Body: body, Request: r}, nil
	})
	l := &Limiter{}
	tr := &Transport{Base: base, Limiter: l}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/", nil)
	if resp, err := tr.RoundTrip(req); resp != nil || err == nil || body.closed.Load() != 1 || busy(l) != 0 {
		t.Errorf("RoundTrip = %v, %v, body closed %d times, %d slots taken; want nil, an error, 1, 0", resp, err, body.closed.Load(), busy(l))
	}
}

// HTTP/2, trailers and reused connections work as they do without the
// Transport.
func TestHTTP2AndTrailers(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum")
		io.WriteString(w, "hello")
		w.Header().Set("Sum", "42")
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	l := &Limiter{Delay: time.Millisecond}
	c := &http.Client{Transport: &Transport{Base: srv.Client().Transport, Limiter: l}}
	defer c.CloseIdleConnections()
	reused := false
	for range 3 {
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if string(body) != "hello" || err != nil || resp.ProtoMajor != 2 || resp.Trailer.Get("Sum") != "42" {
			t.Errorf("the response has the body %q, error %v, protocol %s, trailer %v; want %q, none, HTTP/2.0, Sum: 42", body, err, resp.Proto, resp.Trailer, "hello")
		}
		if busy(l) != 0 {
			t.Errorf("%d slots are taken after EOF, want 0", busy(l))
		}
		resp.Body.Close()
	}
	if !reused {
		t.Error("the connection was not reused, want it reused")
	}
}

// The interval counts from the time at which a request is sent, so that
// requests reach the host an interval apart even after a slow dial.
func TestIntervalCountsFromTheRequestOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zero := time.Now()
		var sent []time.Duration
		base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
			time.Sleep(300 * time.Millisecond) // the dial
			sent = append(sent, time.Since(zero))
			httptrace.ContextClientTrace(r.Context()).WroteHeaders()
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})
		tr := &Transport{Base: base}
		for range 3 {
			get(t, tr, "http://example.com/")
		}
		if fmt.Sprint(sent) != "[300ms 1.6s 2.9s]" {
			t.Errorf("the requests were sent at %v, want 300ms, 1.6s and 2.9s", sent)
		}
	})
}

// Without an interval, the Transport does not watch when a request is sent. If
// the host gets an interval while a request is under way, the interval counts
// from the end of that request. This is late enough, because no request ends
// before it is sent.
func TestIntervalThatIsNewsWhileARequestIsUnderWay(t *testing.T) {
	t.Run("a Crawl-delay that another request brings along", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			zero := time.Now()
			var sent []time.Duration
			tr := &Transport{Limiter: &Limiter{Delay: -1, Concurrency: 10}, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				time.Sleep(8 * time.Second) // the dial
				sent = append(sent, time.Since(zero))
				if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
					trace.WroteHeaders()
				}
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			})}
			var wg sync.WaitGroup
			wg.Go(func() { get(t, tr, "http://example.com/first") })
			wg.Go(func() {
				time.Sleep(time.Second)
				req, _ := http.NewRequestWithContext(WithCrawlDelay(t.Context(), 10*time.Second), "GET", "http://example.com/second", nil)
				tr.RoundTrip(req)
			})
			wg.Wait()
			// The first request is sent at 8 s. The second may start 10 s
			// later, and also dials for 8 s.
			if fmt.Sprint(sent) != "[8s 26s]" {
				t.Errorf("the requests were sent at %v, want 8s and 26s", sent)
			}
		})
	})
	t.Run("an adaptive delay after another response", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			zero := time.Now()
			sent := make(map[string]time.Duration)
			var mu sync.Mutex
			tr := &Transport{Limiter: &Limiter{Delay: -1, Concurrency: 10, Adaptive: 3}, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/slow" {
					time.Sleep(4 * time.Second) // the dial
				}
				mu.Lock()
				sent[r.URL.Path] = time.Since(zero)
				mu.Unlock()
				if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
					trace.WroteHeaders()
				}
				time.Sleep(time.Second)
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			})}
			var wg sync.WaitGroup
			wg.Go(func() { get(t, tr, "http://example.com/slow") })
			wg.Go(func() { get(t, tr, "http://example.com/quick") }) // this request is answered after 1 s, so the interval is 3 s
			wg.Go(func() {
				time.Sleep(4500 * time.Millisecond)
				get(t, tr, "http://example.com/next")
			})
			wg.Wait()
			if gap := sent["/next"] - sent["/slow"]; gap < 3*time.Second {
				t.Errorf("the requests were sent at %v, /next %v after /slow, want at least 3s", sent, gap)
			}
		})
	})
}
