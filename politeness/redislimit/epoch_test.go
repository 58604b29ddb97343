package redislimit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// As soon as the first epoch is 2 s old, all hosts that a member waits for are
// available, however many they are.
func TestEpoch_ManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		m := f.join(&politeness.Limiter{})
		const hosts = 3 * maxHostsPerHeartbeat
		began := time.Now()
		for i := range hosts {
			f.Go(func() {
				m.request(fmt.Sprintf("h%d.example", i), ok200)
			})
		}
		f.Wait()
		if took := time.Since(began); took < 2*time.Second || took > 2100*time.Millisecond {
			t.Errorf("the requests to %d hosts took %v, want 2s to 2.1s", hosts, took)
		}
	})
}

// All keys expire an hour after the last session has ended. A member whose
// session ended earlier does not take that for a loss: it logs nothing, and
// gets hosts as soon as the epoch is 2 s old. If Redis loses its data before,
// the member logs it.
func TestEpoch_AfterIdleTime(t *testing.T) {
	for name, tt := range map[string]struct {
		idle time.Duration
		wait time.Duration // until the host is available
		logs int
	}{
		"the keys have expired": {time.Hour + time.Minute, 2 * time.Second, 0},
		"Redis was flushed":     {30 * time.Minute, 12 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFleet(t)
				a := f.join(&politeness.Limiter{})
				log := a.recordLog()
				a.request(host, ok200)
				time.Sleep(tt.idle)
				f.memory.flush()
				waited, err := a.tryRequest(host, time.Minute, ok200)
				if err != nil || waited.Round(100*time.Millisecond) != tt.wait {
					t.Errorf("the host is available after %v, error %v; want %v and none", waited, err, tt.wait)
				}
				if n := strings.Count(log.String(), "lost the fleet's state"); n != tt.logs {
					t.Errorf("the loss is logged %d times, want %d:\n%s", n, tt.logs, log)
				}
			})
		})
	}
}

// Redis loses all data while the member with the longest Lease is cut off. The
// other member knows that Lease, so the new epoch hands out the hosts when it
// is over.
func TestEpoch_LongestLeaseAfterAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		a.Fleet.lease = 20 * time.Second
		a.Fleet.member = newMember(a.Fleet)
		for i, m := range []*testMember{a, b} {
			g := m.begin(t.Context(), fmt.Sprintf("h%d.example", i))
			defer g.Done(ok200) // keeps the session alive
		}
		time.Sleep(2 * time.Second)
		a.kill()
		f.memory.flush()
		time.Sleep(2 * time.Second)
		if state := f.memory.snapshot(); state.opens != 21_000 {
			t.Errorf("hosts are handed out when the epoch is %d ms old, want 21 s", state.opens)
		}
	})
}

// flushBeforeGive makes Redis lose its state just before the first call that
// gives a host back.
type flushBeforeGive struct {
	*link
	flushed bool
}

func (l *flushBeforeGive) run(ctx context.Context, args []any) ([]any, error) {
	if !l.flushed && slices.Contains(args, any("give")) {
		l.flushed = true
		l.memory.flush()
	}
	return l.link.run(ctx, args)
}

// Redis loses its state just before a host is given back. The owner registers
// the host in the new epoch and gives it back there, so the host is not paused.
func TestEpoch_LossBeforeGive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 6 * time.Second
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{Delay: delay}), f.join(&politeness.Limiter{Delay: delay})
		a.Fleet.engine = &flushBeforeGive{link: a.link}
		keep := a.begin(t.Context(), "other.example") // keeps the session of the first member alive
		defer keep.Done(ok200)
		a.request(host, ok200)
		began := time.Now()
		b.request(host, ok200)
		if gap := time.Since(began); gap < delay || gap > delay+2*time.Second {
			t.Errorf("the next owner starts a request %v after the last one, want %v to %v", gap, delay, delay+2*time.Second)
		}
	})
}

// flushAfterGive makes Redis lose its state just after the first call that
// gives a host back, when no member owns the host.
type flushAfterGive struct {
	*link
	flushed chan struct{} // closed when the state is lost
	once    sync.Once
}

func (l *flushAfterGive) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := l.link.run(ctx, args)
	if slices.Contains(args, any("give")) {
		l.once.Do(func() {
			l.memory.flush()
			close(l.flushed)
		})
	}
	return reply, err
}

// Redis loses its state while a host has no owner, and loses it again before
// the host is available. The host is paused for a Lease and a second after the
// last loss, and no longer. Then members hand it over as fast as before.
func TestEpoch_LossesDuringHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 100 * time.Millisecond
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{Delay: delay}), f.join(&politeness.Limiter{Delay: delay})
		engine := &flushAfterGive{link: a.link, flushed: make(chan struct{})}
		a.Fleet.engine = engine
		a.request(host, ok200)
		ended := make(chan error, 1)
		go func() {
			_, err := b.tryRequest(host, 5*time.Minute, ok200)
			ended <- err
		}()
		<-engine.flushed
		for range 3 {
			time.Sleep(6 * time.Second)
			f.memory.flush()
		}
		lost := time.Now()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if pause, want := time.Since(lost), a.lease+time.Second; pause < want || pause > want+time.Second {
			t.Errorf("the host was paused for %v after the last loss, want %v to %v", pause, want, want+time.Second)
		}
		for i := range 10 {
			if took, err := []*testMember{a, b}[i%2].tryRequest(host, time.Minute, ok200); err != nil || i > 0 && took > 2*delay {
				t.Errorf("hand-over %d took %v, error %v; want at most %v and none", i, took, err, 2*delay)
			}
		}
	})
}
