package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
)

// Two members that take turns use up a Budget, whatever each of them reserves.
func TestReview_BudgetIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		const requests = 320
		var total atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			s := c.member(&politeness.Limiter{Budget: politeness.Budget{Requests: requests}})
			defer s.Close()
			wg.Go(func() {
				for {
					_, err := s.ask(t, time.Hour, ok200)
					if d, is := errors.AsType[*politeness.DelayError](err); is && d.Reason == "budget" {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					total.Add(1)
				}
			})
		}
		wg.Wait()
		if n := total.Load(); n != requests {
			t.Errorf("%d requests of a Budget of %d", n, requests)
		}
	})
}

// A pause ends for all members at about the same time, however often those that
// wait are told of it.
func TestReview_PauseDoesNotSlide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		var mu sync.Mutex
		var paused time.Time
		next := make(map[int]time.Time)
		stop, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 3 {
			s := c.member(&politeness.Limiter{})
			defer s.Close()
			wg.Go(func() {
				for n := 0; ; n++ {
					g, err := s.limiter.Acquire(stop, &url.URL{Host: "shop.example"})
					if err != nil {
						return
					}
					o := ok200
					mu.Lock()
					if paused.IsZero() && i == 0 && n == 5 {
						paused = time.Now()
						o = politeness.Outcome{Status: 429, Header: http.Header{"Retry-After": {"20"}}}
					} else if !paused.IsZero() && next[i].IsZero() {
						next[i] = time.Now()
					}
					mu.Unlock()
					g.Done(o)
				}
			})
		}
		time.Sleep(3 * time.Minute)
		cancel()
		wg.Wait()
		for i, at := range next {
			t.Logf("member %d starts %v after the 429", i, at.Sub(paused))
			if at.Sub(paused) > 30*time.Second {
				t.Errorf("member %d starts %v after the 429", i, at.Sub(paused))
			}
		}
	})
}

// A request that waits for another member's host is told of its estimate when
// that changes, not all the time.
func TestReview_QueuedIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		g, err := a.limiter.Acquire(t.Context(), &url.URL{Host: "shop.example"})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		b.limiter.Acquire(politeness.WithTrace(ctx, &politeness.Trace{Queued: func(time.Time, politeness.Reason) { told++ }}), &url.URL{Host: "shop.example"})
		g.Done(ok200)
		if told > 3 {
			t.Errorf("told %d times in 30 s", told)
		}
	})
}

// A member enters its host into a new epoch and does not learn that it did, and
// needs it no more. Others get the host although the member goes on with
// another one.
func TestReview_LostEnterOfAHostNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		engine := &muffled{link: a.link}
		a.Fleet.engine = engine
		g, err := a.limiter.Acquire(t.Context(), &url.URL{Host: "shop.example"})
		if err != nil {
			t.Fatal(err)
		}
		stop, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for stop.Err() == nil {
				g, _ := a.limiter.Acquire(stop, &url.URL{Host: "other.example"})
				g.Done(ok200)
			}
		}()
		time.Sleep(100 * time.Millisecond)
		c.memory.flush()
		time.AfterFunc(5*time.Second, func() { g.Done(ok200) })
		time.AfterFunc(11500*time.Millisecond, func() { engine.mended.Store(true) })
		began := time.Now()
		_, err = b.ask(t, 10*time.Minute, ok200)
		t.Logf("b has the host after %v: %v", time.Since(began), err)
		if err != nil || time.Since(began) > time.Minute {
			t.Errorf("b has the host after %v: %v", time.Since(began), err)
		}
	})
}

// Close says that Redis has confirmed, even if requests come at that moment.
func TestReview_CloseAmongRequests(t *testing.T) {
	bad := 0
	for range 300 {
		m := new(memory)
		f, err := newFleet(&link{memory: m}, "{test}", Options{Logger: slog.New(slog.DiscardHandler)})
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
					g, err := l.Acquire(short, &url.URL{Host: fmt.Sprint("h", n.Add(1), ".example")})
					cancel()
					if err == nil {
						g.Done(ok200)
					}
				}
			})
		}
		time.Sleep(3 * time.Millisecond)
		began := time.Now()
		if err := f.Close(); err != nil {
			bad++
			if bad == 1 {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		cancel()
		wg.Wait()
		f.Close()
	}
	t.Logf("%d of 300", bad)
}

// A call that was sent twice may have run, even if the server that refused it
// last does not know the script.

func TestReview_SentTwiceThenNoScript(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	client.AddHook(noScript{})
	s := &server{client, []string{"a", "b"}}
	sent := new(sendings)
	if _, err := s.run(t.Context(), callScript, sent, nil); err != nil {
		t.Fatal(err)
	}
	if n := sent.n.Load(); n != 2 {
		t.Errorf("%d sendings that may have run, want 2", n)
	}
}

type noScript struct{}

func (noScript) DialHook(next redis.DialHook) redis.DialHook { return next }
func (noScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (noScript) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		send := func() {
			for _, a := range cmd.Args() {
				if s, ok := a.(*sendings); ok {
					s.MarshalBinary()
				}
			}
		}
		send()
		if cmd.Name() == "evalsha" {
			send() // the first connection broke before the answer came
			err := refusalText("NOSCRIPT No matching script.")
			cmd.SetErr(err)
			return err
		}
		cmd.(*redis.Cmd).SetVal([]any{"epoch"})
		return nil
	}
}

// The end of the hints is heard, however much else there is to do.
func TestReview_EndOfHintsIsHeard(t *testing.T) {
	f := &Fleet{wake: make(chan struct{}, 1)}
	for range 10_000 {
		f.put(func() {})
	}
	f.hear("c", "1 h")
	f.hear("c", "")
	if n := len(f.inbox); n != 10_001 {
		t.Errorf("%d", n)
	}
}

// Close without Redis returns an error even if a request waits for a host that
// this member owns.
func TestReview_CloseWithoutRedisAmongRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&crew{T: t}).member(&politeness.Limiter{Delay: time.Hour})
		s.ask(t, time.Minute, ok200)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.limiter.Acquire(ctx, &url.URL{Host: "shop.example"})
		}()
		synctest.Wait()
		s.die()
		time.Sleep(5 * time.Second)
		if err := s.Close(); err == nil {
			t.Error("Close says that Redis has confirmed")
		}
		cancel()
		<-done
	})
}
