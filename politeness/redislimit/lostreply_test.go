package redislimit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// lostGives loses the first calls that give a host back.
type lostGives struct {
	*link
	lose atomic.Int32
}

func (l *lostGives) run(ctx context.Context, args []any) ([]any, error) {
	if slices.Contains(args, any("give")) && l.lose.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, errCut
	}
	return l.link.run(ctx, args)
}

// An owner gives its host back, but the call is lost. The owner repeats the
// call, so the next owner keeps the interval. The same is true if the first
// owner has another request for the host in the meantime, which is canceled.
func TestLostReply_Give(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name            string
		lost            int32         // the number of calls that are lost
		request, cancel time.Duration // when the first owner makes its second request, and when that is canceled
	}{
		{"want is lost too", 2, 0, 3500 * ms},
		{"want is not sent", 1, 500 * ms, 1075 * ms}, // between the first and second attempt to give the host back
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const delay = 10 * time.Second
				f := newTestFleet(t)
				a, b := f.join(&politeness.Limiter{Delay: delay}), f.join(&politeness.Limiter{Delay: delay})
				engine := &lostGives{link: a.link}
				engine.lose.Store(test.lost)
				a.Fleet.engine = engine
				keep := a.begin(t.Context(), "other.example") // keeps the session of the first member alive
				defer keep.Done(ok200)
				a.request(host, ok200)
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(test.cancel, cancel)
				go func() {
					time.Sleep(test.request)
					if _, err := a.acquire(ctx, host); !errors.Is(err, context.Canceled) {
						t.Errorf("the second request: error %v, want %v", err, context.Canceled)
					}
				}()
				time.Sleep(10 * ms)
				b.request(host, ok200)
				if gap := time.Since(began); gap < delay || gap > delay+3*time.Second {
					t.Errorf("the next owner starts a request %v after the last one, want %v to %v", gap, delay, delay+3*time.Second)
				}
			})
		})
	}
}

// lostRegister runs the first call that registers hosts in a new epoch, but the
// reply is lost. All calls after it are lost too, except those that start a
// session, until the test sets isOver.
type lostRegister struct {
	*link
	begun, isOver atomic.Bool
}

func (l *lostRegister) run(ctx context.Context, args []any) ([]any, error) {
	if joins(args) || l.isOver.Load() {
		return l.link.run(ctx, args)
	}
	if l.begun.Load() {
		<-ctx.Done()
		return nil, errCut
	}
	reply, err := l.link.run(ctx, args)
	if slices.Contains(args, any("register")) {
		l.begun.Store(true)
		<-ctx.Done()
		return nil, errCut
	}
	return reply, err
}

// A member registers its host in a new epoch, but the reply is lost. The member
// makes another request while it still trusts its earlier session. Later it
// has one more request, which is canceled before it gets the host. Even so, the
// first request of the next owner starts no sooner than an interval after the
// member's last request.
func TestLostReply_Register(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 8 * time.Second
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{Delay: delay}), f.join(&politeness.Limiter{Delay: delay})
		engine := &lostRegister{link: a.link}
		a.Fleet.engine = engine
		slow := a.begin(t.Context(), host)
		f.memory.flush()
		time.AfterFunc(8500*time.Millisecond, func() { slow.Done(ok200) })
		g := a.begin(t.Context(), host)
		last := time.Now()
		g.Done(ok200)
		ctx, cancel := context.WithCancel(t.Context())
		go a.acquire(ctx, host)
		time.AfterFunc(4500*time.Millisecond, cancel)
		time.AfterFunc(4700*time.Millisecond, func() { engine.isOver.Store(true) })
		b.request(host, ok200)
		if gap := time.Since(last); gap < delay || gap > 2*delay {
			t.Errorf("the next owner starts a request %v after the last one, want %v to %v", gap, delay, 2*delay)
		}
	})
}

// A member registers its host in a new epoch, but the reply is lost. Then the
// member needs this host no more, and continues with another host. The next
// member must get the first host.
func TestLostReply_RegisterOfUnneededHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		engine := &lostRegister{link: a.link}
		a.Fleet.engine = engine
		g := a.begin(t.Context(), host)
		stop, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for stop.Err() == nil {
				g, _ := a.acquire(stop, "other.example")
				g.Done(ok200)
			}
		}()
		time.Sleep(100 * time.Millisecond)
		f.memory.flush()
		time.AfterFunc(5*time.Second, func() { g.Done(ok200) })
		time.AfterFunc(11500*time.Millisecond, func() { engine.isOver.Store(true) })
		began := time.Now()
		_, err := b.tryRequest(host, 10*time.Minute, ok200)
		if err != nil || time.Since(began) > time.Minute {
			t.Errorf("the request of the other member: error %v after %v, want none after at most 1m0s", err, time.Since(began))
		}
	})
}
