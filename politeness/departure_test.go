package politeness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Requests reach their host at least an interval apart, however long their
// dials take.
func TestSlowDialsKeepThePace(t *testing.T) {
	const s = time.Second
	noConnection := errors.New("connection refused")
	tests := []struct {
		name    string
		limiter *Limiter
		dials   []time.Duration // how long each dial takes; negative means the dial fails after that time
		want    []time.Duration // when the host receives requests
		ended   time.Duration
	}{
		{"the first is slow and the second quick", &Limiter{Concurrency: 2}, []time.Duration{5 * s, 0, 0},
			[]time.Duration{5 * s, 6 * s, 7 * s}, 7 * s},
		{"by as much as the interval", &Limiter{Concurrency: 2}, []time.Duration{s + 200*time.Microsecond, 0, 0},
			[]time.Duration{s + 200*time.Microsecond, 2*s + 200*time.Microsecond, 3*s + 200*time.Microsecond}, 3*s + 200*time.Microsecond},
		{"all are slow, and end together", &Limiter{Concurrency: 3}, []time.Duration{5 * s, 4 * s, 3 * s},
			[]time.Duration{5 * s, 10 * s, 14 * s}, 14 * s},
		{"no limit but the interval", &Limiter{Concurrency: -1}, []time.Duration{5 * s, 4 * s, 3 * s},
			[]time.Duration{5 * s, 10 * s, 14 * s}, 14 * s},
		{"quick ones wait for nothing", &Limiter{Concurrency: 2}, []time.Duration{s / 2, s / 2, s / 2},
			[]time.Duration{s / 2, 2 * s, 3*s + s/2}, 3*s + s/2},
		{"the first fails", &Limiter{Concurrency: 2}, []time.Duration{-5 * s, 0, 0},
			[]time.Duration{5 * s, 6 * s}, 6 * s},
		{"one machine of several hosts", &Limiter{Concurrency: 2, Within: &Limiter{Delay: 2 * s, Concurrency: 4,
			Key: func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }}}, []time.Duration{5 * s, 0, 0},
			[]time.Duration{5 * s, 7 * s, 9 * s}, 9 * s},
		{"without an interval no request waits", &Limiter{Delay: -1, Concurrency: 3}, []time.Duration{5 * s, 0, 0},
			[]time.Duration{0, 0, 5 * s}, 5 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &rudeServer{rude: func(int, int) bool { return false }}
				var mu sync.Mutex
				dials := tt.dials
				base := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
					mu.Lock()
					takes := dials[0]
					dials = dials[1:]
					mu.Unlock()
					time.Sleep(max(takes, -takes))
					if takes < 0 {
						return nil, noConnection
					}
					near, far := net.Pipe()
					go server.serve(far)
					return near, nil
				}}
				tr := &Transport{Base: base, Limiter: tt.limiter}
				zero := time.Now()
				var wg sync.WaitGroup
				for range tt.dials {
					wg.Go(func() {
						if err := fetch(t, tr, newGet(t, "http://example.com/page")); err != nil && !errors.Is(err, noConnection) {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if took := time.Since(zero); took != tt.ended {
					t.Errorf("the requests took %v in all, want %v", took, tt.ended)
				}
				var got []time.Duration
				for _, at := range server.seen {
					got = append(got, at.Sub(zero))
				}
				if len(got) != len(tt.want) {
					t.Fatalf("the host received requests at %v, want %v", got, tt.want)
				}
				for i := range got {
					if got[i] != tt.want[i] {
						t.Fatalf("the host received requests at %v, want %v", got, tt.want)
					}
				}
				if n := busy(tt.limiter); n != 0 {
					t.Errorf("%d slots are taken, want 0", n)
				}
			})
		})
	}
}

func TestSlowDialsKeepThePace_RealConnections(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	server := &rudeServer{rude: func(int, int) bool { return false }}
	address := server.listen(t)
	var dials atomic.Int32
	var writes writeTimes
	base := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			time.Sleep(delay + 200*time.Microsecond)
		}
		return writes.dial(ctx, network, address)
	}}
	defer base.CloseIdleConnections()
	tr := &Transport{Base: base, Limiter: &Limiter{Delay: delay, Concurrency: 2}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := fetch(t, tr, newGet(t, "http://"+address+"/page")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	gaps := writes.gaps()
	if len(gaps) != 3 {
		t.Errorf("%d requests were written, want 4", len(gaps)+1)
	}
	for _, gap := range gaps {
		if gap < delay/2 { // a busy machine may delay a request between its grant and its write
			t.Errorf("requests were written %v apart, want %v", gaps, delay)
		}
	}
}

// writeTimes records when requests are written to connections. The times at
// which a server receives them are less exact, because a busy machine may delay
// the server.
type writeTimes struct {
	mu    sync.Mutex
	times []time.Time
}

func (w *writeTimes) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return timedConn{conn, w}, nil
}

func (w *writeTimes) gaps() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var gaps []time.Duration
	for i := 1; i < len(w.times); i++ {
		gaps = append(gaps, w.times[i].Sub(w.times[i-1]))
	}
	return gaps
}

// A timedConn notes the time of each Write. http.Transport writes a request
// without a body at once.
type timedConn struct {
	net.Conn
	writes *writeTimes
}

func (c timedConn) Write(p []byte) (int, error) {
	c.writes.mu.Lock()
	c.writes.times = append(c.writes.times, time.Now())
	c.writes.mu.Unlock()
	return c.Conn.Write(p)
}

// If a request never reaches its host, other requests wait until its attempt
// has ended. A request that cannot wait so long is rejected. After the attempt,
// the Limiter keeps no state of it.
func TestDialThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rudeServer{rude: func(int, int) bool { return false }}
		first := true
		base := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
			if first {
				first = false
				time.Sleep(20 * time.Second) // net/http lets a dial go on after its request has ended
				return nil, errors.New("no route to host")
			}
			near, far := net.Pipe()
			go server.serve(far)
			return near, nil
		}}
		l := &Limiter{Concurrency: 4}
		tr := &Transport{Base: base, Limiter: l, AttemptTimeout: 10 * time.Second}
		zero := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := fetch(t, tr, newGet(t, "http://example.com/hangs")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the request that hangs: error %v, want DeadlineExceeded", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if err := fetch(t, tr, newGet(t, "http://example.com/waits")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, mustURL(t, "http://example.com/hurried"))
		if _, ok := errors.AsType[*DelayError](err); !ok || time.Since(zero) != 3*time.Second {
			t.Errorf("a request with a deadline of 3s: error %v after %v, want a DelayError after 3s", err, time.Since(zero))
		}
		wg.Wait()
		time.Sleep(time.Minute)
		if len(server.seen) != 1 || server.seen[0].Sub(zero) != 10*time.Second {
			t.Errorf("the server received requests at %v, want one after 10s", server.seen)
		}
		if h := l.hosts.Get("example.com"); h != nil && (h.OnItsWay != 0 || h.InFlight != 0 || h.Waiting() != 0) {
			t.Errorf("%d requests are on their way, %d in flight and %d waiting, want none", h.OnItsWay, h.InFlight, h.Waiting())
		}
	})
}

// Requests use all slots even if Base does not report when they are sent.
func TestConcurrencyOverABaseThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Limiter: &Limiter{Concurrency: 3}, Base: roundTripFunc(func(*http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second)
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})}
		zero := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { tr.RoundTrip(newGet(t, "http://example.com/")) })
		}
		wg.Wait()
		if took := time.Since(zero); took != 12*time.Second {
			t.Errorf("the three requests took %v, want 12s", took)
		}
	})
}

// If a request has not been sent when its lease expires, it no longer delays
// other requests. If it reaches the host after all, the next interval counts
// from that time.
func TestRequestThatArrivesAfterItsLease(t *testing.T) {
	for _, others := range []bool{true, false} { // if none waits, the host is evicted
		synctest.Test(t, func(t *testing.T) {
			zero := time.Now()
			var seen []time.Duration
			first := true
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				trace := httptrace.ContextClientTrace(req.Context())
				trace.GetConn("example.com:80")
				if first {
					first = false
					time.Sleep(7900 * time.Millisecond) // the handshake
				}
				trace.WroteHeaders()
				if req.URL.Host == "example.com" {
					seen = append(seen, time.Since(zero))
				}
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("ok")), Request: req}, nil
			})
			l := &Limiter{Lease: 5 * time.Second, MaxHosts: 1}
			tr := &Transport{Base: base, Limiter: l, AttemptTimeout: -1}
			var wg sync.WaitGroup
			get := func(url string) {
				wg.Go(func() {
					if err := fetch(t, tr, newGet(t, url)); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			get("http://example.com/late")
			want := "[5s 6s 7s 7.9s 8.9s]"
			if others {
				for range 4 {
					get("http://example.com/waits")
				}
			} else {
				time.Sleep(6 * time.Second)
				get("http://other.example/") // MaxHosts is 1, so example.com is evicted
				time.Sleep(2 * time.Second)
				get("http://example.com/next")
				want = "[7.9s 8.9s]"
			}
			wg.Wait()
			if got := fmt.Sprint(seen); got != want {
				t.Errorf("others %v: the host received requests at %v, want %v", others, got, want)
			}
		})
	}
}
