package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// If a member has a session whose end Redis cannot confirm, Close returns an
// error. A member without a session can be closed without Redis.
func TestClose_WithoutRedis(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*testMember)
		want   string // "" means no error
	}{
		"no request yet": {func(m *testMember) { m.kill() }, ""},
		"connected":      {func(m *testMember) { m.request(host, ok200) }, ""},
		"without its hosts": {func(m *testMember) {
			m.request(host, ok200)
			time.Sleep(time.Hour)
			m.kill()
		}, ""},
		"cut off": {func(m *testMember) {
			m.request(host, ok200)
			m.kill()
		}, "the hosts of this member are paused until the session expires"},
		"cut off for long": {func(m *testMember) {
			m.request(host, ok200)
			m.kill()
			time.Sleep(5 * time.Second)
		}, "the hosts of this member are paused until the session expires"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newTestFleet(t).join(&politeness.Limiter{})
				tt.before(m)
				err := m.Close()
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("Close returns %v, want an error that contains %q, or nil if that is empty", err, tt.want)
				}
			})
		})
	}
}

// Close without Redis returns an error even if a request waits for a host that
// this member owns.
func TestClose_WithoutRedisWhileRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestFleet(t).join(&politeness.Limiter{Delay: time.Hour})
		m.request(host, ok200)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.acquire(ctx, host)
		}()
		synctest.Wait()
		m.kill()
		time.Sleep(5 * time.Second)
		if err := m.Close(); err == nil {
			t.Error("Close of a member that cannot reach Redis returns nil, want an error")
		}
		cancel()
		<-done
	})
}

// Close returns nil within a short time, even if requests are made meanwhile.
func TestClose_WhileRequestsStart(t *testing.T) {
	t.Parallel()
	for range 60 { // a fault would show only in some orders of events, so try often
		f, err := newFleet(&link{memory: new(memory)}, "{test}", Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l := &politeness.Limiter{Fleet: f}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var n atomic.Int64
		for range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					short, cancel := context.WithTimeout(ctx, time.Millisecond)
					if g, err := l.Acquire(short, &url.URL{Host: fmt.Sprint("h", n.Add(1), ".example")}); err == nil {
						g.Done(ok200)
					}
					cancel()
				}
			})
		}
		time.Sleep(3 * time.Millisecond)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		wg.Wait()
		f.Close() // waits for the goroutine that requests after the first Close may have started
	}
}

// A closed Fleet denies its Limiter a host. The Limiter then keeps no state of
// the host.
func TestClose_LimiterKeepsNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestFleet(t).join(&politeness.Limiter{})
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := m.tryRequest(host, time.Second, ok200); !errors.Is(err, errClosed) {
			t.Errorf("error %v, want errClosed", err)
		}
		time.Sleep(time.Minute)
		began := time.Now()
		if _, err := m.tryRequest(host, time.Second, ok200); !errors.Is(err, errClosed) || time.Since(began) > 0 {
			t.Errorf("a minute after Close: error %v after %v, want %q at once", err, time.Since(began), errClosed)
		}
	})
}

// After Close, every request ends within a second, also one that waits without
// a deadline. Its error names the fleet.
func TestClose_EndsAllRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestFleet(t).join(&politeness.Limiter{Delay: time.Hour})
		a.request(host, ok200)
		time.Sleep(time.Minute)
		ended := make(chan error, 6)
		for _, host := range []string{host, host, "other.example", "other.example"} {
			go func() {
				g, err := a.acquire(context.Background(), host)
				g.Done(ok200)
				ended <- err
			}()
		}
		synctest.Wait()
		<-ended // one of the requests to other.example has started
		a.Close()
		go func() {
			_, err := a.acquire(context.Background(), "new.example")
			ended <- err
		}()
		for range 4 {
			select {
			case err := <-ended:
				d, is := errors.AsType[*politeness.DelayError](err)
				if !is || !errors.Is(err, errClosed) || d.Reason != politeness.ReasonFleet {
					t.Errorf("error %v, want a DelayError with errClosed (%+v)", err, d)
				}
			case <-time.After(time.Second):
				t.Error("a request still waits a second after Close, want an error by then")
			}
		}
	})
}

// The hosts of a member that is closed are available to others at once.
func TestClose_HostsAreAvailable(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: shortDelay}), f.join(&politeness.Limiter{Delay: shortDelay})
		a.requestMany(1, 5)
		f.Wait()
		if err := a.Close(); err != nil {
			f.Error(err)
		}
		began := time.Now()
		b.request(host, ok200)
		if took := time.Since(began); took > shortDelay+quick+f.stalled() {
			f.Errorf("the next request starts %v after Close, want at most %v", took, shortDelay+quick+f.stalled())
		}
		ctx, cancel := context.WithTimeout(f.Context(), quick)
		defer cancel()
		if _, err := a.acquire(ctx, "other.example"); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("a request of a closed member: error %v, want DeadlineExceeded", err)
		}
	})
}

// Redis loses its data, and an owner of a paused host is closed before its next
// heartbeat, so that it learns of the loss from the call that gives the host
// back or drops it. The next owner must know the pause.
func TestClose_AfterALoss(t *testing.T) {
	for name, tt := range map[string]struct {
		inFlight   bool          // a request is in flight when the member is closed
		sincePause time.Duration // from the start of the pause to the loss; Redis stores the pause at once
	}{
		"given back":                    {false, 0},
		"dropped with an unsaved pause": {true, 0},
		"dropped with a saved pause":    {true, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFleet(t)
				a, b := f.join(twoAtOnce()), f.join(twoAtOnce())
				slow := a.begin(t.Context(), host)
				next := a.begin(t.Context(), host)
				time.Sleep(300 * time.Millisecond) // between two heartbeats
				if !tt.inFlight {
					slow.Done(ok200)
					time.Sleep(100 * time.Millisecond)
				}
				next.Done(tooMany("120"))
				paused := time.Now()
				time.Sleep(tt.sincePause)
				f.memory.flush()
				if err := a.Close(); err != nil {
					t.Error(err)
				}
				b.mustStartBetween(paused, 120*time.Second, 134*time.Second)
				slow.Done(ok200)
			})
		})
	}
}

// closeDuringJoin closes a member after Redis has started the member's second
// session, and before the reply arrives.
type closeDuringJoin struct {
	*link
	sessions atomic.Int32
	close    func() error
	closed   chan error // receives the result of close
}

func (l *closeDuringJoin) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := l.link.run(ctx, args)
	if joins(args) && l.sessions.Add(1) == 2 {
		go func() { l.closed <- l.close() }()
		time.Sleep(time.Millisecond)
	}
	return reply, err
}

// Redis loses its data. A member with a request in flight to a paused host is
// closed when it has joined the new epoch and has not registered the host yet.
// The next owner must know the pause.
func TestClose_BeforeHostsAreRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(twoAtOnce()), f.join(twoAtOnce())
		engine := &closeDuringJoin{link: a.link, close: a.Close, closed: make(chan error)}
		a.Fleet.engine = engine
		slow := a.begin(t.Context(), host)
		a.request(host, tooMany("120"))
		paused := time.Now()
		f.memory.flush()
		if err := <-engine.closed; err != nil {
			t.Error(err)
		}
		b.mustStartBetween(paused, 120*time.Second, 134*time.Second)
		slow.Done(ok200)
	})
}

// flushBetweenDrops sends the call that drops a host twice, as a client may do.
// Between the two, another member gets the host, and Redis loses its data.
type flushBetweenDrops struct {
	*link
	flushed bool
}

func (l *flushBetweenDrops) run(ctx context.Context, args []any) ([]any, error) {
	if l.flushed || !slices.Contains(args, any("drop")) {
		return l.link.run(ctx, args)
	}
	l.flushed = true
	if _, err := l.memory.call(1, args); err != nil {
		return nil, err
	}
	time.Sleep(100 * time.Millisecond)
	l.memory.flush()
	return l.memory.call(2, args)
}

// A member is closed with a request in flight. Another member gets its host,
// and Redis loses its data. The first member does not know whether it still
// owns the host, so it does not register the host in the new epoch, and the
// other member keeps the host.
func TestClose_DropMayHaveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(twoAtOnce()), f.join(twoAtOnce())
		engine := &flushBetweenDrops{link: a.link}
		a.Fleet.engine = engine
		slow := a.begin(t.Context(), host)
		b.crawl()
		time.Sleep(10 * time.Millisecond) // b waits for the host
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if n := b.lost.Load(); n > 0 || !engine.flushed {
			t.Errorf("the owner has lost its host %d times, and Redis was flushed: %t; want 0, true", n, engine.flushed)
		}
		if n, _ := b.startsSince(time.Now().Add(-2 * time.Second)); n == 0 {
			t.Error("the owner has started no request in the last 2s, want one at least")
		}
		slow.Done(ok200)
	})
}
