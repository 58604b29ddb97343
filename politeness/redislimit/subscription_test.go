package redislimit

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// No member can subscribe: a permission is missing, the command has another
// name, or a proxy ends each subscription. Hosts change hands nevertheless, and
// each member logs one Error.
func TestSubscription_Missing(t *testing.T) {
	for name, why := range map[string]error{
		"no right":        rejectionText("NOPERM this user has no permissions to run the 'subscribe' command"),
		"unknown command": rejectionText("ERR unknown command 'SUBSCRIBE'"),
		"a proxy":         errors.New("EOF"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFleet(t)
				var logs [2]*strings.Builder
				for i := range logs {
					m := f.join(&politeness.Limiter{Delay: shortDelay})
					logs[i] = m.recordLog()
					m.link.noSubscribe = why
					m.crawl()
				}
				time.Sleep(20 * time.Second)
				from := time.Now()
				time.Sleep(time.Minute)
				total := 0
				for i, m := range f.members {
					n, silence := m.startsSince(from)
					total += n
					if n < 100 || silence > 10*time.Second {
						t.Errorf("member %d started %d requests in a minute, and none of them for %v; want at least 100, and at most 10s", i, n, silence)
					}
					if n := strings.Count(logs[i].String(), "level=ERROR"); n != 1 || !strings.Contains(logs[i].String(), "no notifications") {
						t.Errorf("member %d logged %d errors, want one:\n%s", i, n, logs[i])
					}
				}
				if total < 300 {
					t.Errorf("%d requests in a minute, want 300 at least, half of what the Delay allows", total)
				}
			})
		})
	}
}

// A subscription is confirmed, but its connection is half open: no message
// arrives. The member notices that within a few heartbeats, and subscribes
// anew. Then a host changes hands at once, not with the next heartbeat. Nothing
// is logged.
func TestSubscription_HalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{Delay: time.Second}), f.join(&politeness.Limiter{Delay: time.Second})
		log := a.recordLog()
		a.link.halfOpen = true
		keep := a.begin(t.Context(), "other.example") // keeps the session of the first member alive
		defer keep.Done(ok200)
		time.Sleep(6 * heartbeatInterval)
		synctest.Wait()
		if a.link.subscriptions != 2 {
			t.Errorf("the member has subscribed %d times, want 2", a.link.subscriptions)
		}
		for range 10 {
			a.request(host, ok200)
			time.Sleep(1100 * time.Millisecond) // the next request is due
			if took, err := b.tryRequest(host, time.Minute, ok200); err != nil || took > 200*time.Millisecond {
				t.Errorf("the other member waited for %v, error %v; want at most 200ms and none", took, err)
			}
			time.Sleep(1100 * time.Millisecond)
		}
		if log.Len() > 0 {
			t.Errorf("the member's log is not empty, want no log:\n%s", log)
		}
	})
}

// unsubscribable is a connection on which each subscription ends at once.
type unsubscribable struct{ *link }

func (l unsubscribable) subscribe(context.Context, string, func(string)) error {
	return io.EOF
}

// Close gives hosts back at once even if there is no subscription at that
// moment.
func TestSubscription_CloseWithoutSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestFleet(t).join(&politeness.Limiter{})
		a.Fleet.engine = unsubscribable{a.link}
		a.begin(t.Context(), host).Done(tooMany("50"))
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		err := a.Close()
		if took := time.Since(began); err != nil || took > 100*time.Millisecond {
			t.Errorf("Close returned %v after %v, want nil after at most 100ms", err, took)
		}
		time.Sleep(time.Minute) // the goroutine ends
	})
}
