package redislimit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A member of another version joins. It gets no host, and its request fails at
// once with an error that names both versions. The members of the fleet go on
// as if alone, also after Redis has lost its state.
func TestVersion_SideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{}).withVersion(formatVersion+1)
		a.crawl()
		time.Sleep(5 * time.Second)
		from := time.Now()
		log := b.recordLog()
		took, err := b.tryRequest(host, 5*time.Second, ok200)
		if _, is := errors.AsType[*politeness.DelayError](err); !is || took > 0 && !strings.Contains(err.Error(), "version") {
			t.Errorf("a request of a member of another version: error %v after %v, want a DelayError at once, or one that mentions the version", err, took)
		}
		for _, want := range []string{fmt.Sprint("version ", formatVersion, " "), fmt.Sprint("version ", formatVersion+1, ":"), "stop the members of the other version"} {
			if !strings.Contains(err.Error(), want) || strings.Count(log.String(), want) != 1 {
				t.Errorf("the error is\n%v\nand the log is\n%s\nwant %q in the error, and once in the log", err, log, want)
			}
		}
		go b.tryRequest(host, time.Hour, ok200) // the member tries to join again and again
		time.Sleep(30 * time.Second)
		if _, silence := a.startsSince(from); silence > time.Second {
			t.Errorf("the member of the fleet starts no request for %v, want at most 1s", silence)
		}
		for range 5 {
			f.memory.flush()
			time.Sleep(700 * time.Millisecond)
			if state := f.memory.snapshot(); state.version == formatVersion+1 {
				t.Fatal("the member of another version began a new epoch while the fleet had members")
			}
			time.Sleep(5 * time.Second)
		}
		if _, silence := a.startsSince(from); silence > 1500*time.Millisecond {
			t.Errorf("after the losses, the member of the fleet starts no request for %v, want at most 1.5s", silence)
		}
	})
}

// When the last member of the other version is closed or killed, a new epoch
// begins. No request starts too soon even then.
func TestVersion_Successor(t *testing.T) {
	for name, tt := range map[string]struct {
		leave func(*testMember)
		most  time.Duration // from the last request of the other version to the next
	}{
		"closed": {func(m *testMember) { m.Close() }, 15 * time.Second},
		"killed": {(*testMember).kill, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const delay = 13 * time.Second
				f := newTestFleet(t)
				a, b := f.join(&politeness.Limiter{Delay: delay}), f.join(&politeness.Limiter{Delay: delay}).withVersion(formatVersion+1)
				a.request(host, ok200)
				a.request(host, ok200)
				last := time.Now()
				ended := make(chan error)
				go func() {
					_, err := b.tryRequest(host, 5*time.Minute, ok200)
					ended <- err
				}()
				time.Sleep(time.Second)
				tt.leave(a)
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if gap := time.Since(last); gap < delay || gap > tt.most+delay {
					t.Errorf("the other version starts %v after the last request, want %v to %v", gap, delay, tt.most+delay)
				}
				if state := f.memory.snapshot(); state.version != formatVersion+1 {
					t.Errorf("the state in Redis has version %d, want %d", state.version, formatVersion+1)
				}
				// Now a member of the first version is the one that is
				// rejected.
				if name == "closed" {
					back := f.join(&politeness.Limiter{Delay: delay})
					if _, err := back.tryRequest(host, time.Second, ok200); err == nil || !strings.Contains(err.Error(), "version") {
						t.Errorf("a member of the earlier version: error %v, want one that mentions the version", err)
					}
				}
			})
		})
	}
}

// In Redis too, a member of another version gets an error that names both
// versions, and joins when the fleet has ended.
func TestVersion_InRedis(t *testing.T) {
	t.Parallel()
	f := newRedisTestFleet(t)
	f.options.Lease = shortLease
	earlier, later := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{}).withVersion(formatVersion+1)
	earlier.request(host, ok200)
	earlier.crawl()
	from := time.Now()
	if _, err := later.tryRequest(host, 5*time.Second, ok200); err == nil || !strings.Contains(err.Error(), fmt.Sprint("version ", formatVersion+1, ":")) {
		t.Errorf("a member of the later version: error %v, want one that mentions version %d", err, formatVersion+1)
	}
	if n, _ := earlier.startsSince(from); n < 2 {
		t.Errorf("the member of the fleet started %d requests while another version tried to join, want 2 at least", n)
	}
	earlier.stopCrawling()
	f.Wait()
	earlier.Close()
	if _, err := later.tryRequest(host, 30*time.Second, ok200); err != nil {
		t.Errorf("a request of the later version after the fleet has ended: error %v, want none", err)
	}
	if v := f.clients[0].HGet(t.Context(), "{test}fleet", "version").Val(); v != fmt.Sprint(formatVersion+1) {
		t.Errorf("the state in Redis has version %q, want %d", v, formatVersion+1)
	}
	if _, err := earlier.tryRequest(host, 5*time.Second, ok200); err == nil {
		t.Error("a request of a closed Fleet was granted, want an error")
	}
}
