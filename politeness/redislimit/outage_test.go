package redislimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// Each outage, its end, and each loss of the state are logged once. No
// goroutine runs when no host is needed.
func TestOutage_LoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		m := f.join(&politeness.Limiter{})
		log := m.recordLog()
		m.crawl()
		time.Sleep(10 * time.Second)
		for range 2 {
			m.cutOff()
			time.Sleep(time.Minute)
			m.reconnect()
			time.Sleep(10 * time.Second)
			f.memory.flush()
			time.Sleep(20 * time.Second)
		}
		m.stopCrawling()
		f.Wait()
		time.Sleep(10 * time.Second)
		if sessions := f.memory.snapshot().sessions; m.hasSession() || len(sessions) > 0 {
			t.Errorf("the member's goroutine runs: %t, and the sessions are %v; want false and no sessions", m.hasSession(), sessions)
		}
		for _, what := range []string{"does not answer", "has ended", "answers again", "lost the fleet's state"} {
			if n := strings.Count(log.String(), what); n != 2 {
				t.Errorf("%q is logged %d times, want twice:\n%s", what, n, log)
			}
		}
	})
}

// While Redis does not answer, no request waits longer than its deadline. The
// error contains the owner of the host, and since when Redis does not answer.
func TestOutage_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g := a.begin(ctx, host)
		defer g.Done(ok200)
		took, err := b.tryRequest(host, 1500*time.Millisecond, ok200)
		if delay, ok := errors.AsType[*politeness.DelayError](err); !ok || took > 1500*time.Millisecond ||
			delay.Until.Before(time.Now()) || !strings.Contains(err.Error(), "member 1 of the fleet owns it") || !strings.Contains(err.Error(), "at about") {
			t.Errorf("a request to the host of member 1: error %v after %v, want a DelayError within 1.5s that names member 1", err, took)
		}
		go b.tryRequest(host, 2*time.Minute, ok200)
		time.Sleep(time.Second)
		cutOff := time.Now()
		b.cutOff()
		time.Sleep(30 * time.Second)
		for _, maxWait := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 900 * time.Millisecond, 5 * time.Second} {
			took, err := b.tryRequest(host, maxWait, ok200)
			away, ok := errors.AsType[*AwayError](err)
			if !ok || took > maxWait {
				t.Errorf("with a deadline of %v: error %v after %v, want an AwayError before the deadline", maxWait, err, took)
				continue
			}
			if away.Owner != "member 1" || away.Since.After(cutOff.Add(time.Second)) || away.Since.Before(cutOff.Add(-2*time.Second)) ||
				!strings.Contains(err.Error(), fmt.Sprint("since ", away.Since.Format(time.RFC3339))) {
				t.Errorf("the AwayError is %+v with the text %q, want the Owner %q and Since at about %v, both also in the text", *away, err, "member 1", cutOff)
			}
		}
		never := f.join(&politeness.Limiter{MaxWait: -1})
		never.cutOff()
		for range 5 {
			if took, err := never.tryRequest(host, time.Minute, ok200); err == nil || took > 0 {
				t.Errorf("with MaxWait -1: error %v after %v, want an error at once", err, took)
			}
			time.Sleep(time.Second)
		}
	})
}

// When no host is needed any more, no goroutine runs, even if Redis does not
// answer.
func TestOutage_NothingRunsWithoutRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestFleet(t).join(&politeness.Limiter{})
		g := m.begin(t.Context(), host)
		m.cutOff()
		g.Done(ok200)
		if _, err := m.tryRequest("other.example", 5*time.Second, ok200); err == nil {
			t.Error("a request starts without Redis, want an error")
		}
		time.Sleep(time.Minute)
		if m.hasSession() {
			t.Error("the member has a session although it needs no host, want none")
		}
	})
}
