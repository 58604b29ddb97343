package redislimit

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// No member can subscribe: a right is missing, the command has another name, or
// a proxy ends each subscription. Hosts change hands nevertheless, and each
// member logs one Error.
func TestSubscription_Missing(t *testing.T) {
	for name, why := range map[string]error{
		"no right":        refusalText("NOPERM this user has no permissions to run the 'subscribe' command"),
		"unknown command": refusalText("ERR unknown command 'SUBSCRIBE'"),
		"a proxy":         errors.New("EOF"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crew{T: t}
				ctx, cancel := context.WithCancel(t.Context())
				var logs [2]strings.Builder
				var crawls [2]crawling
				for i := range crawls {
					s := c.member(&politeness.Limiter{Delay: 100 * time.Millisecond})
					defer s.Close()
					s.log = slog.New(slog.NewTextHandler(&logs[i], nil))
					s.link.noSubscribe = why
					crawls[i].start(ctx, s.limiter)
				}
				time.Sleep(20 * time.Second)
				from := time.Now()
				time.Sleep(time.Minute)
				cancel()
				total := 0
				for i := range crawls {
					crawls[i].wg.Wait()
					n, silence := crawls[i].since(from)
					total += n
					if n < 100 || silence > 10*time.Second {
						t.Errorf("member %d made %d requests in a minute, and none for %v", i, n, silence)
					}
					if n := strings.Count(logs[i].String(), "level=ERROR"); n != 1 || !strings.Contains(logs[i].String(), "no notifications") {
						t.Errorf("member %d logs %d Errors, want one:\n%s", i, n, &logs[i])
					}
				}
				if total < 300 {
					t.Errorf("%d requests in a minute, want half of what the pace allows", total)
				}
			})
		})
	}
}

// A subscription is confirmed, but its connection is half open: no message
// arrives. The member notices that within a few beats, and subscribes anew.
// Then a host changes hands at once, not with the next heartbeat. Nothing is
// logged.
func TestSubscription_HalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{Delay: time.Second}), c.member(&politeness.Limiter{Delay: time.Second})
		defer a.Close()
		defer b.Close()
		var log strings.Builder
		a.log = slog.New(slog.NewTextHandler(&log, nil))
		a.link.halfOpen = true
		keep, err := a.limiter.Acquire(t.Context(), page("other.example")) // keeps the session of the first member alive
		if err != nil {
			t.Fatal(err)
		}
		defer keep.Done(ok200)
		time.Sleep(6 * heartbeatInterval)
		synctest.Wait()
		if a.link.subscriptions != 2 {
			t.Errorf("%d subscriptions, want 2", a.link.subscriptions)
		}
		for range 10 {
			if _, err := a.ask(t, time.Minute, ok200); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1100 * time.Millisecond) // the next request is due
			if took, err := b.ask(t, time.Minute, ok200); err != nil || took > 200*time.Millisecond {
				t.Errorf("the other member waited for %v: %v", took, err)
			}
			time.Sleep(1100 * time.Millisecond)
		}
		if log.Len() > 0 {
			t.Errorf("the log is\n%s", &log)
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
		a := (&crew{T: t}).member(&politeness.Limiter{})
		a.Fleet.engine = unsubscribable{a.link}
		a.begin(t).Done(tooMany("50"))
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		err := a.Close()
		if took := time.Since(began); err != nil || took > 100*time.Millisecond {
			t.Errorf("Close returned %v after %v", err, took)
		}
		time.Sleep(time.Minute) // the goroutine ends
	})
}
