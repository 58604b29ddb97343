package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
)

// withVersion makes the member one of another version.
func (s *sailor) withVersion(version int) *sailor {
	s.version = version
	return s
}

// crawling makes requests until the context ends, and notes their starts.
type crawling struct {
	mu     sync.Mutex
	starts []time.Time
	wg     sync.WaitGroup
}

func (c *crawling) start(ctx context.Context, l *politeness.Limiter) {
	traced := politeness.WithTrace(ctx, &politeness.Trace{Granted: func(at time.Time) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.starts = append(c.starts, at)
	}})
	c.wg.Go(func() {
		for ctx.Err() == nil {
			if g, err := l.Acquire(traced, page(host)); err == nil {
				g.Done(ok200)
			}
		}
	})
}

// since returns how many requests have started since a time, and the longest
// time without a start.
func (c *crawling) since(from time.Time) (n int, silence time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := from
	for _, at := range c.starts {
		if at.After(from) {
			n, silence, last = n+1, max(silence, at.Sub(last)), at
		}
	}
	return n, max(silence, time.Since(last))
}

// A member of another version comes. It gets no host, and an error that names
// both versions, at once. The members of the fleet go on as if alone, also
// after Redis has lost its state.
func TestVersion_SideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{}).withVersion(formatVersion+1)
		defer a.Close()
		defer b.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var old crawling
		old.start(ctx, a.limiter)
		time.Sleep(5 * time.Second)
		from := time.Now()
		var log strings.Builder
		b.log = slog.New(slog.NewTextHandler(&log, nil))
		took, err := b.ask(t, 5*time.Second, ok200)
		if _, is := errors.AsType[*politeness.DelayError](err); !is || took > 0 && !strings.Contains(err.Error(), "version") {
			t.Errorf("after %v: %v", took, err)
		}
		for _, want := range []string{fmt.Sprint("version ", formatVersion, " "), fmt.Sprint("version ", formatVersion+1, ":"), "stop the members of the other version"} {
			if !strings.Contains(err.Error(), want) || strings.Count(log.String(), want) != 1 {
				t.Errorf("want %q once in the error and in the log:\n%v\n%s", want, err, &log)
			}
		}
		go b.ask(t, time.Hour, ok200) // it asks Redis again and again
		time.Sleep(30 * time.Second)
		if _, silence := old.since(from); silence > time.Second {
			t.Errorf("the member of the fleet rests for %v", silence)
		}
		for range 5 {
			c.memory.flush()
			time.Sleep(700 * time.Millisecond)
			if state := c.memory.snapshot(); state.version == formatVersion+1 {
				t.Fatal("the member of another version begins a new epoch while the others are there")
			}
			time.Sleep(5 * time.Second)
		}
		if _, silence := old.since(from); silence > 1500*time.Millisecond {
			t.Errorf("after the losses, the member of the fleet rests for %v", silence)
		}
		cancel()
		old.wg.Wait()
	})
}

// When the last member of the other version has gone, a new epoch begins. No
// request comes too soon even then.
func TestVersion_Successor(t *testing.T) {
	for name, tt := range map[string]struct {
		leave func(*sailor)
		most  time.Duration // from the last request of the other version to the next
	}{
		"closed": {func(s *sailor) { s.Close() }, 15 * time.Second},
		"killed": {(*sailor).die, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const delay = 13 * time.Second
				c := &crew{T: t}
				a, b := c.member(&politeness.Limiter{Delay: delay}), c.member(&politeness.Limiter{Delay: delay}).withVersion(formatVersion+1)
				defer a.Close()
				defer b.Close()
				a.ask(t, time.Minute, ok200)
				a.ask(t, time.Minute, ok200)
				last := time.Now()
				came := make(chan error)
				go func() {
					_, err := b.ask(t, 5*time.Minute, ok200)
					came <- err
				}()
				time.Sleep(time.Second)
				tt.leave(a)
				if err := <-came; err != nil {
					t.Fatal(err)
				}
				if gap := time.Since(last); gap < delay || gap > tt.most+delay {
					t.Errorf("the other version starts %v after the last request", gap)
				}
				if state := c.memory.snapshot(); state.version != formatVersion+1 {
					t.Errorf("the state has version %d", state.version)
				}
				// The other way round: the first version is now the other one.
				if name == "closed" {
					back := c.member(&politeness.Limiter{Delay: delay})
					defer back.Close()
					if _, err := back.ask(t, time.Second, ok200); err == nil || !strings.Contains(err.Error(), "version") {
						t.Errorf("the earlier version: %v", err)
					}
				}
			})
		})
	}
}

// In Redis too, a member of another version gets an error that names both
// versions, and its turn comes when the fleet has ended.
func TestVersion_InRedis(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: startServer(t)})
	defer client.Close()
	join := func(version int) *politeness.Limiter {
		f, err := New(client, Options{Lease: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		f.version = version
		return &politeness.Limiter{Fleet: f}
	}
	start := func(l *politeness.Limiter, wait time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		g, err := l.Acquire(ctx, page(host))
		g.Done(ok200)
		return err
	}
	old, young := join(formatVersion), join(formatVersion+1)
	if err := start(old, time.Minute); err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	var c crawling
	c.start(stop, old)
	from := time.Now()
	if err := start(young, 5*time.Second); err == nil || !strings.Contains(err.Error(), fmt.Sprint("version ", formatVersion+1, ":")) {
		t.Errorf("the other version: %v", err)
	}
	if n, _ := c.since(from); n < 2 {
		t.Errorf("%d starts of the fleet beside the other version", n)
	}
	cancel()
	c.wg.Wait()
	old.Fleet.(*Fleet).Close()
	if err := start(young, 30*time.Second); err != nil {
		t.Errorf("after the fleet has ended: %v", err)
	}
	if v := client.HGet(t.Context(), "{courtesy}fleet", "version").Val(); v != fmt.Sprint(formatVersion+1) {
		t.Errorf("the state has version %q", v)
	}
	if err := start(old, 5*time.Second); err == nil {
		t.Error("a closed Fleet gets a host")
	}
}
