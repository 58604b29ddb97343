package politeness

import (
	"sync"
	"testing"
)

// Four goroutines call Done of each Grant. Only one call counts.
func TestDone_FromManyGoroutines(t *testing.T) {
	var n tally
	l := &Limiter{Delay: -1, Concurrency: 4, Observer: n.observer()}
	u := mustURL(t, "http://example.com/")
	for range 200 {
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { g.Done(Outcome{Status: 200, Latency: 1}) })
		}
		wg.Wait()
	}
	if s := l.Stats(); s.InFlight != 0 || n.granted.Load() != 200 {
		t.Errorf("Stats = %+v, and the Observer's calls are %v; want none in flight and 200 granted", s, &n)
	}
	(*Grant)(nil).Done(Outcome{})
	new(Grant).Done(Outcome{})
}
