package limittest_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/limittest"
)

func TestMemory(t *testing.T) {
	limittest.Run(t, func(*testing.T) func() politeness.Backend {
		memory := new(limittest.Memory)
		return func() politeness.Backend { return memory }
	})
}

// Where no clock is shared, not a start of a fleet is early or late.
func TestFleetToTheNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := new(limittest.Memory)
		began := time.Now()
		starts := make(chan time.Duration, 100)
		for range 5 {
			l := &politeness.Limiter{Shared: memory, GlobalConcurrency: 3}
			for range 4 {
				go func() {
					g, err := l.Acquire(t.Context(), &url.URL{Host: "example.com"})
					if err != nil {
						t.Error(err)
					}
					starts <- time.Since(began)
					g.Done(politeness.Outcome{Status: 200})
				}()
			}
		}
		for i := range 20 {
			if at := <-starts; at != time.Duration(i)*time.Second {
				t.Errorf("start %d after %v", i, at)
			}
		}
	})
}

func ExampleMemory() {
	pace := new(limittest.Memory)
	a := politeness.Limiter{Shared: pace} // one process
	b := politeness.Limiter{Shared: pace} // and another
	page := &url.URL{Scheme: "http", Host: "example.com"}

	first, _ := a.Acquire(context.Background(), page)
	first.Done(politeness.Outcome{Status: 200})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := b.Acquire(ctx, page)
	fmt.Printf("%T\n", err)
	// Output: *politeness.DelayError
}
