package politeness

import (
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A state from another member of the fleet may contain anything. It never makes
// a request start sooner, and never makes a count of the Budget negative.
func FuzzClaimState(f *testing.F) {
	l := &Limiter{Budget: Budget{Requests: 10}}
	l.init()
	h := l.hosts.Obtain(0, "shop.example", l.expireLeases)
	h.BeginClaim(0, new(schedule.Claim))
	h.Learn().CrawlDelay, h.Learned.PauseEnd, h.Learned.Level = 7e9, 9e9, 3
	h.LastStart = 1e9
	l.budgets.Spend(utcDay(), h.Key, schedule.Amount{Requests: 4})
	state, _ := l.export(h, 2e9, true)
	f.Add(state)
	f.Add([]byte{})
	f.Add([]byte{0xff})
	f.Add(append([]byte{1, 0xff}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"...))
	f.Fuzz(func(t *testing.T, state []byte) {
		synctest.Test(t, func(t *testing.T) {
			claims := make(stateFleet, 1)
			l := &Limiter{Fleet: claims, Budget: Budget{Requests: 10, Bytes: 10}}
			g := new(Grant)
			if err := l.prepare(t.Context(), mustURL(t, "http://shop.example/"), g); err != nil {
				t.Fatal(err)
			}
			g.startIfReady()
			h := l.hosts.Get("shop.example")
			before := h.DueForAny()
			c := <-claims
			c.Wait(l.epoch, fleet.Record{State: state}, nil)
			c.Own(fleet.Record{State: state})
			if after := h.DueForAny(); after < before {
				t.Errorf("after the Claim received the state, the host is due at %v, want %v, as before, or later", after, before)
			}
			if _, reserved := l.budgets.Export(utcDay(), h.Key, false); reserved.Requests < 0 || reserved.Bytes < 0 {
				t.Errorf("the Budget's reservation is %+v, want nothing below 0", reserved)
			}
			g.leave(false)
			c.Give(true)
		})
	})
}

type stateFleet chan fleet.Claim

func (f stateFleet) Look(h fleet.Claim) {
	select {
	case f <- h:
	default:
	}
}
func (f stateFleet) Trusted() bool { return true }

func (f stateFleet) RequestEnded(string, fleet.Record) {}
