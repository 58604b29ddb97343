package redislimit

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// countedClaim is a Claim that keeps its host forever, and counts calls.
type countedClaim struct {
	host   string
	gives  *atomic.Int64
	owned  atomic.Bool
	looked atomic.Bool // Give was called
}

func (h *countedClaim) Settings() string                    { return "" }
func (h *countedClaim) Host() string                        { return h.host }
func (h *countedClaim) Own(fleet.Record)                    { h.owned.Store(true) }
func (h *countedClaim) Wait(time.Time, fleet.Record, error) {}
func (h *countedClaim) Deny(error)                          {}
func (h *countedClaim) Lose()                               {}
func (h *countedClaim) Give(bool) (r fleet.Record, over bool) {
	h.gives.Add(1)
	h.looked.Store(true)
	return r, false
}

// A member owns tens of thousands of hosts. Each heartbeat examines only a few
// of them, because each examination acquires the Limiter's lock and delays
// requests. Every host is examined within half a minute.
func TestMember_ManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestFleet(t).join(&politeness.Limiter{})
		const hosts = 20_000
		var gives atomic.Int64
		var claims []*countedClaim
		for i := range hosts {
			h := &countedClaim{host: fmt.Sprintf("h%d.example", i), gives: &gives}
			claims = append(claims, h)
			m.Look(h)
		}
		time.Sleep(5 * time.Minute) // the heartbeats request all hosts
		synctest.Wait()
		gives.Store(0)
		for _, h := range claims {
			if !h.owned.Load() {
				t.Fatalf("%s is not owned, want every host owned", h.host)
			}
			h.looked.Store(false)
		}
		time.Sleep((reviewHeartbeats+1)*heartbeatInterval + heartbeatInterval/2)
		synctest.Wait()
		if n := gives.Load(); n > 2*hosts {
			t.Errorf("%d examinations of %d hosts in %v, want %d at most", n, hosts, reviewHeartbeats*heartbeatInterval, 2*hosts)
		}
		for _, h := range claims {
			if !h.looked.Load() {
				t.Errorf("%s was not examined within %v", h.host, reviewHeartbeats*heartbeatInterval)
				break
			}
		}
	})
}

// A contendedClaim is a countedClaim that notes when Give was last called with
// the information that other members wait.
type contendedClaim struct {
	countedClaim
	contendedAt time.Time
}

func (h *contendedClaim) Give(others bool) (fleet.Record, bool) {
	if others {
		h.contendedAt = time.Now()
	}
	return h.countedClaim.Give(others)
}

// Redis does not answer for a while, and another member waits for the host of
// this one. With the first reply, the host can be given back.
func TestMember_ContendedAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a, b := f.join(&politeness.Limiter{}), f.join(&politeness.Limiter{})
		var gives atomic.Int64
		own := &contendedClaim{countedClaim: countedClaim{host: host, gives: &gives}}
		a.Look(own)
		time.Sleep(3 * time.Second)
		b.Look(&countedClaim{host: host, gives: &gives})
		time.Sleep(2 * time.Second)
		lose := func(lost bool) { // unlike with cutOff, the subscription stays
			a.link.mu.Lock()
			defer a.link.mu.Unlock()
			a.link.lose = func() bool { return lost }
		}
		lose(true)
		time.Sleep(3 * time.Second)
		lose(false)
		restored := time.Now()
		time.Sleep(heartbeatInterval)
		synctest.Wait()
		if own.contendedAt.Before(restored) {
			t.Errorf("Give was not called with others = true within %v of the end of the outage, want a call", heartbeatInterval)
		}
	})
}

// Another member has ended the session of a member that was killed. This member
// requests its hosts again, because they may have become available.
func TestMember_PeerEndedByAnother(t *testing.T) {
	for name, tt := range map[string]struct {
		silentFor time.Duration
		want      bool
	}{
		"after a Lease":    {12 * time.Second, true},
		"a late heartbeat": {3 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(newTestFleet(t).join(&politeness.Limiter{}).Fleet)
			h := &hostState{name: host, claim: &countedClaim{host: host}}
			m.add(h)
			m.peers = map[int64]peerSession{7: {callNumber: 1, silentFor: tt.silentFor}}
			m.observePeers(nil)
			if m.dirty[h] != tt.want {
				t.Errorf("the host is requested again: %t, want %t", m.dirty[h], tt.want)
			}
		})
	}
}
