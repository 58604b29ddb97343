package redislimit

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// slowReplies delays the replies to calls that request a host while on is set.
type slowReplies struct {
	*link
	on atomic.Bool
}

func (l *slowReplies) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := l.link.run(ctx, args)
	if l.on.Load() && slices.Contains(args, any("want")) {
		time.Sleep(200 * time.Millisecond)
	}
	return reply, err
}

// A member has given a host back while a request was in flight, and requests
// the host again. The request in flight ends with a 429 after Redis has made
// the member the owner, but before the reply arrives. The member is then killed
// or closed. The next owner must know the pause.
func TestPause_WhileReplyIsOnItsWay(t *testing.T) {
	for name, leave := range map[string]func(*sailor){
		"killed": func(s *sailor) { s.die() },
		"closed": func(s *sailor) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crew{T: t}
				a, b := c.member(&politeness.Limiter{Concurrency: 2}), c.member(&politeness.Limiter{Concurrency: 2})
				defer a.Close()
				defer b.Close()
				engine := &slowReplies{link: a.link}
				a.Fleet.engine = engine
				slow := a.begin(t)
				b.mustAsk(t, ok200)
				time.Sleep(3 * time.Second) // b gives the host back
				engine.on.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go a.limiter.Acquire(ctx, page(host)) // waits until the end of the test
				time.Sleep(50 * time.Millisecond)
				slow.Done(tooMany("60"))
				paused := time.Now()
				time.Sleep(500 * time.Millisecond)
				leave(a)
				b.mustStartBetween(t, paused, time.Minute, time.Minute+time.Second)
				cancel()
				time.Sleep(time.Second) // the last reply arrives
			})
		})
	}
}

// A request outlives the Limiter's Lease, so the host is given back as if no
// request were in flight. Then the request ends with a 429. The owner must
// know the pause, even if the member's session has ended.
func TestPause_AfterLimiterLease(t *testing.T) {
	for name, keepsSession := range map[string]bool{"session": true, "session has ended": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crew{T: t}
				a, b := c.member(&politeness.Limiter{Lease: 3 * time.Second}), c.member(&politeness.Limiter{})
				defer a.Close()
				defer b.Close()
				slow := a.begin(t)
				b.mustAsk(t, ok200)
				time.Sleep(8 * time.Second)
				if keepsSession {
					g, err := a.limiter.Acquire(t.Context(), page("other.example"))
					if err != nil {
						t.Fatal(err)
					}
					defer g.Done(ok200)
				}
				a.Fleet.mu.Lock()
				if hasSession := a.Fleet.done != nil; hasSession != keepsSession {
					t.Errorf("the member has a session: %t", hasSession)
				}
				a.Fleet.mu.Unlock()
				paused := time.Now()
				slow.Done(tooMany("60"))
				time.Sleep(500 * time.Millisecond)
				b.mustStartBetween(t, paused, time.Minute, time.Minute+2*time.Second)
			})
		})
	}
}

// A member is cut off while a request is in flight, which ends with a 429. The
// session ends, so another member owns the host when this one can reach Redis
// again. Then the owner must know the pause, and when it ends.
func TestPause_WhileCutOff(t *testing.T) {
	for name, isWanted := range map[string]bool{"a request waits": true, "no request waits": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crew{T: t}
				a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
				defer a.Close()
				defer b.Close()
				needed, err := a.limiter.Acquire(t.Context(), page("other.example")) // keeps the goroutine alive
				if err != nil {
					t.Fatal(err)
				}
				defer needed.Done(ok200)
				slow := a.begin(t)
				ctx, cancel := context.WithCancel(t.Context())
				var requests crawling
				requests.start(ctx, b.limiter)
				time.Sleep(time.Second)
				if isWanted {
					go a.limiter.Acquire(ctx, page(host))
				}
				a.link.sever(true)
				time.Sleep(3 * time.Second)
				slow.Done(tooMany("120"))
				paused := time.Now()
				time.Sleep(20 * time.Second)
				if n, _ := requests.since(paused); n == 0 {
					t.Error("the other member does not own the host")
				}
				a.link.sever(false)
				time.Sleep(3 * time.Second)
				returned := time.Now()
				time.Sleep(90 * time.Second)
				if n, _ := requests.since(returned); n > 0 {
					t.Errorf("%d requests started during the pause", n)
				}
				cancel()
				requests.wg.Wait()
				b.mustStartBetween(t, paused, 2*time.Minute, 2*time.Minute+2*time.Second)
			})
		})
	}
}
