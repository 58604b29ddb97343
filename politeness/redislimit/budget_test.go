package redislimit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A Budget is that of all members together.
func TestBudget_IsShared(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		f.skipAtMidnight()
		const requests = 50
		var total atomic.Int32
		for range 3 {
			m := f.join(&politeness.Limiter{Delay: shortDelay, Budget: politeness.Budget{Requests: requests}})
			f.Go(func() { total.Add(int32(m.exhaustBudget(time.Minute))) })
		}
		f.Wait()
		f.checkIntervals(shortDelay)
		if n := total.Load(); n != requests {
			f.Errorf("the members started %d requests together, want the Budget of %d", n, requests)
		}
	})
}

// What a member does not use of a Budget is handed over.
func TestBudget_RestIsHandedOver(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		f.skipAtMidnight()
		const requests = 320
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Delay: -1, Budget: politeness.Budget{Requests: requests}}
		}
		a, b := f.join(limiter()), f.join(limiter())
		a.requestMany(1, 5)
		f.Wait()
		time.Sleep(quick) // so that member a gives the host back
		if err := a.Close(); err != nil {
			f.Error(err)
		}
		if n := b.exhaustBudget(time.Minute); n != requests-5 {
			f.Errorf("the member that remains started %d requests, want %d, the rest of the Budget", n, requests-5)
		}
	})
}

// Two members take turns with a host. They use up its whole Budget, however
// much each of them reserves.
func TestBudget_IsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		const requests = 320
		var total atomic.Int32
		for range 2 {
			m := f.join(&politeness.Limiter{Budget: politeness.Budget{Requests: requests}})
			f.Go(func() { total.Add(int32(m.exhaustBudget(time.Hour))) })
		}
		f.Wait()
		if n := total.Load(); n != requests {
			t.Errorf("the members started %d requests together, want the Budget of %d", n, requests)
		}
	})
}

// A gate is an engine whose calls wait while closed contains a value.
type gate struct {
	engine
	closed  chan struct{} // has a capacity of 1
	waiting atomic.Int32  // how many calls wait
}

func (g *gate) run(ctx context.Context, args []any) ([]any, error) {
	g.waiting.Add(1)
	g.closed <- struct{}{}
	g.waiting.Add(-1)
	<-g.closed
	return g.engine.run(ctx, args)
}

// fixedBody is a Base that answers each request with the same body.
type fixedBody []byte

func (b fixedBody) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     make(http.Header),
		Body:       io.NopCloser(bytes.NewReader(b)),
		Request:    r,
	}, nil
}

// A member reads a response that uses up Budget.Bytes, and is closed before
// Redis has stored the reservation of these bytes. The request is still in
// flight, so the host cannot be given back. No other member may use the same
// bytes.
func TestBudget_ReservationBeforeClose(t *testing.T) {
	const limit = 1000
	runFleetTest(t, func(f *testFleet) {
		f.skipAtMidnight()
		f.options = Options{Timeout: 3 * time.Second, Logger: f.options.Logger}
		limiter := func() *politeness.Limiter {
			return &politeness.Limiter{Budget: politeness.Budget{Bytes: limit}}
		}
		a, b := f.join(limiter()), f.join(limiter())
		g := &gate{engine: a.engine, closed: make(chan struct{}, 1)}
		a.engine = g
		client := &http.Client{Transport: &politeness.Transport{Base: make(fixedBody, limit+1), Limiter: a.limiter}}
		response, err := client.Get("http://" + host + "/")
		if err != nil {
			f.Fatal(err)
		}
		defer response.Body.Close()

		g.closed <- struct{}{}
		for g.waiting.Load() == 0 {
			time.Sleep(10 * time.Millisecond) // until the next heartbeat
		}
		if _, err := io.ReadFull(response.Body, make([]byte, limit)); err != nil {
			f.Fatal(err)
		}
		time.AfterFunc(200*time.Millisecond, func() { <-g.closed })
		if err := a.Close(); err != nil {
			f.Fatal(err)
		}

		_, err = b.tryRequest(host, time.Minute, ok200)
		delay, is := errors.AsType[*politeness.DelayError](err)
		if !is || delay.Reason != politeness.ReasonBudget {
			f.Errorf("another member's request: error %v, want a DelayError with Reason %q", err, politeness.ReasonBudget)
		}
	})
}
