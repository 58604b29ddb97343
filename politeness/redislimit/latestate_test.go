package redislimit

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// becomeUnawareOwner makes p the owner of the host without its knowledge: p has
// given the host back while a request was in flight, has requested it again,
// and the reply was lost.
func (p *puppet) becomeUnawareOwner() {
	p.scene.Helper()
	p.own()
	p.host.record.InFlight = 1
	p.send("give")
	p.send("want") // the reply is lost
	p.host.record.InFlight = 0
}

// A member is the owner of a host and does not know it. A request that was in
// flight when it gave the host back ends with a 429. The member reports this as
// a late state and is killed. The next owner must receive the late state.
func TestLateState_UnawareOwnerDies(t *testing.T) {
	runScene(t, func(s *scene) {
		a, b := s.member(0), s.member(0)
		s.open(a, b)
		a.becomeUnawareOwner()
		a.host.lateRecord = fleet.Record{State: []byte("late"), Keep: time.Minute}
		a.send("land")
		c := b.newCall(false)
		c.addEnd(endedSession{a.session, a.callNumber})
		if _, err := b.runScript(c.args); err != nil {
			s.Fatal(err)
		}
		late := element[[]any](b.own(), 8)
		if len(late) != 3 || element[string](late, 2) != "late" {
			s.Errorf("the late states are %v, want one", late)
		}
	})
}

// A member is the owner of a host and does not know it. It reports a late state
// and then learns that it is the owner. It receives its late state beside the
// stored state, and what it stores after that replaces both.
func TestLateState_UnawareOwnerLearns(t *testing.T) {
	runScene(t, func(s *scene) {
		a, b := s.member(0), s.member(0)
		s.open(a, b)
		a.host.record = fleet.Record{State: []byte("given back"), Keep: time.Minute}
		a.becomeUnawareOwner()
		a.host.lateRecord = fleet.Record{State: []byte("late"), Keep: time.Minute}
		a.send("land")
		result := a.own()
		late := element[[]any](result, 8)
		if state := element[string](result, 3); state != "given back" || len(late) != 3 || element[string](late, 2) != "late" {
			s.Errorf("the result is %v, want the state that was given back, and a late state", result)
		}
		a.host.latest = element[int64](late, 0)
		a.host.record = fleet.Record{State: []byte("newer"), Keep: time.Minute}
		a.send("keep")
		a.send("give")
		result = b.own()
		if state := element[string](result, 3); state != "newer" || len(element[[]any](result, 8)) != 0 {
			s.Errorf("the next owner's result is %v, want the newer state, and no late state", result)
		}
	})
}

// A member is the owner of a host and does not know it. The last of its
// requests in flight ends. The next owner does not wait for it.
func TestLateState_UnawareOwnerHasNothingInFlight(t *testing.T) {
	runScene(t, func(s *scene) {
		a, b := s.member(0), s.member(0)
		s.open(a, b)
		a.becomeUnawareOwner()
		a.host.lateRecord = fleet.Record{}
		a.send("land")
		a.send("drop")
		if flight := element[int64](b.own(), 7); flight != 0 {
			s.Errorf("%d requests are in flight, want none", flight)
		}
	})
}

// lostReplies loses the replies to calls that request a host while on is set.
type lostReplies struct {
	*link
	on atomic.Bool
}

func (l *lostReplies) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := l.link.run(ctx, args)
	if l.on.Load() && slices.Contains(args, any("want")) {
		<-ctx.Done()
		return nil, errCut
	}
	return reply, err
}

// A member has given a host back while a request was in flight, and requests
// the host again. Redis makes it the owner, but the reply is lost. The request
// in flight ends with a 429. The reply to the call that reports this is lost
// too, and the member is killed. The next owner must know the pause.
func TestLateState_RepliesAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(twoAtOnce()), c.member(twoAtOnce())
		defer a.Close()
		defer b.Close()
		engine := &lostReplies{link: a.link}
		a.Fleet.engine = engine
		slow := a.begin(t)
		b.mustAsk(t, ok200)
		time.Sleep(3 * time.Second) // b gives the host back
		engine.on.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.limiter.Acquire(ctx, page(host)) // waits until the end of the test
		time.Sleep(50 * time.Millisecond)
		if c.memory.snapshot().hosts[host].owner == 0 {
			t.Fatal("the member is not the owner")
		}
		slow.Done(tooMany("60"))
		paused := time.Now()
		time.Sleep(3 * time.Second) // the first call times out, and the second one runs
		a.die()
		// The age of a late state counts from the latest call that reports it.
		b.mustStartBetween(t, paused, time.Minute, time.Minute+3*time.Second)
		cancel()
		synctest.Wait()
	})
}
