//go:build unix

package queues

import (
	"sync"
	"testing"
	"time"
)

// stalls records the stalls of this process. TestMain starts it.
var stalls stallRecorder

// A stallRecorder records stalls: periods in which this process could not run,
// so that no server in it could log a request.
type stallRecorder struct {
	mu  sync.Mutex
	all []stall
}

type stall struct{ begin, end time.Time }

// record records stalls until the process ends. Those of up to 20 ms are
// included in the constant lag.
func (r *stallRecorder) record() {
	const tick = time.Millisecond
	for {
		due := time.Now().Add(tick)
		time.Sleep(tick)
		if now := time.Now(); now.Sub(due) > 20*time.Millisecond {
			r.mu.Lock()
			r.all = append(r.all, stall{due, now})
			r.mu.Unlock()
		}
	}
}

// lag returns the longest time from the sending of a request to its entry in
// the log at the time at: the constant lag, and the stalls that overlap the
// second before the entry.
func (r *stallRecorder) lag(at time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	longest := lag
	for _, s := range r.all {
		if s.begin.Before(at) && s.end.After(at.Add(-time.Second)) {
			longest += s.end.Sub(s.begin)
		}
	}
	return longest
}

func TestStallRecorder(t *testing.T) {
	start := time.Now()
	r := stallRecorder{all: []stall{
		{start, start.Add(3 * time.Second)},
		{start.Add(3500 * time.Millisecond), start.Add(3600 * time.Millisecond)},
	}}
	for at, want := range map[time.Duration]time.Duration{
		0:                       lag, // before the stalls
		2 * time.Second:         lag + 3*time.Second,
		3900 * time.Millisecond: lag + 3100*time.Millisecond,
		4100 * time.Millisecond: lag + 100*time.Millisecond,
		5 * time.Second:         lag,
	} {
		if got := r.lag(start.Add(at)); got != want {
			t.Errorf("%v after the start, the lag is %v, want %v", at, got, want)
		}
	}
}

// The entry of the first request is late because of a stall. The second request
// is not too early.
func TestPaceAfterStall(t *testing.T) {
	at := time.Now().Add(-time.Hour) // before all other tests
	stalls.mu.Lock()
	stalls.all = append(stalls.all, stall{at.Add(-900 * time.Millisecond), at})
	stalls.mu.Unlock()
	s := &site{unit: delay}
	s.checkPace(t, 0, []request{
		{path: "/robots.txt", at: at},
		{path: "/0", at: at.Add(100 * time.Millisecond)},
	})
}
