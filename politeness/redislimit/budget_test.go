package redislimit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A gate is an engine whose calls wait while the test has sent a value to
// closed.
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
	runScene(t, func(s *scene) {
		if now := time.Now().UTC(); now.Add(2*time.Minute).YearDay() != now.YearDay() {
			s.Skip("SKIPPED: the day's Budget would end during the test")
		}
		newLimiter := func(e engine) *politeness.Limiter {
			s.Helper()
			f, err := newFleet(e, s.prefix, Options{Timeout: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				s.Fatal(err)
			}
			return &politeness.Limiter{Fleet: f, Budget: politeness.Budget{Bytes: limit}}
		}
		g := &gate{engine: s.newEngine(), closed: make(chan struct{}, 1)}
		a, b := newLimiter(g), newLimiter(s.newEngine())
		defer a.Fleet.(*Fleet).Close()
		defer b.Fleet.(*Fleet).Close()
		client := &http.Client{Transport: &politeness.Transport{Base: make(fixedBody, limit+1), Limiter: a}}
		response, err := client.Get("http://" + host + "/")
		if err != nil {
			s.Fatal(err)
		}
		defer response.Body.Close()

		g.closed <- struct{}{}
		for g.waiting.Load() == 0 {
			time.Sleep(10 * time.Millisecond) // until the next heartbeat
		}
		if _, err := io.ReadFull(response.Body, make([]byte, limit)); err != nil {
			s.Fatal(err)
		}
		time.AfterFunc(200*time.Millisecond, func() { <-g.closed })
		if err := a.Fleet.(*Fleet).Close(); err != nil {
			s.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		grant, err := b.Acquire(ctx, page(host))
		grant.Done(ok)
		delay, is := errors.AsType[*politeness.DelayError](err)
		if !is || delay.Reason != politeness.ReasonBudget {
			s.Errorf("another member's request: %v, want that the Budget is spent", err)
		}
	})
}
