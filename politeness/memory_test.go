package politeness

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// The budgets of this file are about twice what a quiet machine needs, because
// a busy one needs more: goroutines wait for a processor in the middle of a
// call, stacks grow at contended locks, and pools are emptied between two uses.
// The benchmarks of this package report the exact figures.

// An uncontended grant costs one allocation, the Grant.
func TestAllocations(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	l := &Limiter{Delay: -1}
	u := mustURL(t, "http://www.example.com/page")
	ctx := WithCrawlDelay(t.Context(), Exempt)
	if n := testing.AllocsPerRun(100, func() {
		g, err := l.Acquire(ctx, u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{Status: 200, Latency: time.Millisecond})
	}); n > 2 {
		t.Errorf("Acquire and Done make %v allocations, want at most 2", n)
	}
	if n := testing.AllocsPerRun(100, func() { l.Next(u) }); n > 1 {
		t.Errorf("Next makes %v allocations, want at most 1", n)
	}
}

// An idle host takes less than 200 bytes.
func TestMemoryOfAnIdleHost(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector needs memory of its own")
	}
	const n, budget = 100_000, 400
	before := liveHeap()
	l := &Limiter{Delay: time.Hour}
	for i := range n {
		g, err := l.Acquire(t.Context(), hostURL(i))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{Status: 200})
	}
	each := (liveHeap() - before) / n
	if s := l.Stats(); s.Hosts != n {
		t.Fatalf("Stats() = %+v, want %d hosts", s, n)
	}
	if each > budget {
		t.Errorf("a host takes %d bytes of memory, want at most %d", each, budget)
	}
}

// A waiting request takes about 3,500 bytes, its goroutine included. Go makes
// new stacks as large as earlier stacks have become on average, and a stack
// grows if its goroutine has to wait for a lock, so the test runs in a process
// of its own, with small stacks and one processor. On a busy machine, more
// goroutines are still interrupted while they hold the lock.
func TestMemoryOfAWaiter(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector needs memory of its own")
	}
	if os.Getenv("GODEBUG") != "adaptivestackstart=0" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryOfAWaiter$")
		cmd.Env = append(os.Environ(), "GODEBUG=adaptivestackstart=0", "GOMAXPROCS=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("the test in a process of its own: error %v, want none, and its output is\n%s", err, out)
		}
		return
	}
	const n, budget = 20_000, 7000
	ctx, cancel := context.WithCancel(t.Context())
	before := liveHeap()
	l := &Limiter{Delay: time.Hour}
	var wg sync.WaitGroup
	for i := range n {
		u := hostURL(i % (n / 100))
		wg.Go(func() { l.Acquire(ctx, u) })
	}
	for l.Stats().Waiting < n-n/100 {
		time.Sleep(time.Millisecond)
	}
	each := (liveHeap() - before) / n
	t.Logf("%d bytes for a waiter", each)
	cancel()
	wg.Wait()
	if each > budget {
		t.Errorf("a waiting request takes %d bytes of memory, want at most %d", each, budget)
	}
}
