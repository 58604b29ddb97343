package redislimit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// A scriptMember is a member whose calls a test makes itself. All of them
// concern one host.
type scriptMember struct {
	*member
	f    *testFleet
	host *hostState
}

// joinScript returns a member without a session. 0 stands for the default
// Lease.
func (f *testFleet) joinScript(lease time.Duration) *scriptMember {
	f.Helper()
	m := &scriptMember{f: f, host: &hostState{name: host}}
	// On a busy machine, Redis may take long to reply.
	m.member = newMember(f.newFleet(Options{Lease: lease, Timeout: 3 * time.Second, Logger: f.options.Logger}))
	return m
}

// openEpoch starts the members' sessions in a new epoch and waits until hosts
// are handed out.
func (f *testFleet) openEpoch(members ...*scriptMember) {
	f.Helper()
	for _, m := range members {
		m.join()
	}
	for range 3 { // at most a second between two calls counts
		time.Sleep(time.Second)
		for _, m := range members {
			m.send()
		}
	}
}

// join starts a session and returns the reply.
func (m *scriptMember) join() (reply []any) {
	m.f.Helper()
	m.session = 0
	reply = m.send()
	m.startSession(element[string](reply, 3), element[int64](reply, 4))
	return reply
}

// send makes a call with the given operations and returns the reply.
func (m *scriptMember) send(operations ...string) (reply []any) {
	m.f.Helper()
	c := m.newCall(false)
	for _, name := range operations {
		record := &m.host.record
		if name == "land" {
			record = &m.host.lateRecord
		}
		c.add(name, m.host, record)
	}
	reply, err := m.runScript(c.args)
	if status := element[string](reply, 0); err != nil || status != "ok" {
		m.f.Fatalf("the reply to the operations %v is %v (error %v), want the status %q", operations, reply, err, "ok")
	}
	return reply
}

// want requests the host and returns the result. If the member is the owner,
// its token is noted.
func (m *scriptMember) want() (result []any) {
	m.f.Helper()
	result = element[[]any](element[[]any](m.send("want"), 2), 0)
	if element[string](result, 0) == "own" {
		m.host.token = element[int64](result, 1)
	}
	return result
}

// mustBeClosed starts a session in a new epoch, and checks that the epoch hands
// out the host when it has the given age.
func (m *scriptMember) mustBeClosed(until time.Duration) {
	m.f.Helper()
	m.join()
	result := m.want()
	wait := milliseconds(result, 1)
	if element[string](result, 0) != "closed" || wait > until || wait < until-time.Second {
		m.f.Errorf("the result of the operation is %v, want that the host is available in %v to %v", result, until-time.Second, until)
	}
}

// own requests the host, and fails the test unless the member is the owner
// then.
func (m *scriptMember) own() (result []any) {
	m.f.Helper()
	result = m.want()
	if element[string](result, 0) != "own" {
		m.f.Fatalf("the result of the operation is %v, want the status %q", result, "own")
	}
	return result
}

// A member with a Lease of 20 s is cut off when Redis fails over. A member with
// a Lease of 10 s begins the new epoch. The members of the new epoch hand out a
// host that the first member may own only when its Lease is over.
func TestScript_LongestLease(t *testing.T) {
	const long, short = 20 * time.Second, 10 * time.Second
	runFleetTest(t, func(f *testFleet) {
		a, b := f.joinScript(long), f.joinScript(short)
		a.join()
		b.join()
		f.failOver()
		b.mustBeClosed(long + time.Second)
	})
}

// Redis fails over while the fleet has a member, which may own hosts. A new
// member, which does not know the earlier epoch, begins the next one. The
// stored sessions show that the fleet has members, so hosts are handed out only
// when a Lease is over.
func TestScript_NewMemberBeginsEpoch(t *testing.T) {
	const lease = 10 * time.Second
	runFleetTest(t, func(f *testFleet) {
		a := f.joinScript(lease)
		a.join()
		f.failOver()
		f.joinScript(lease).mustBeClosed(lease + time.Second)
	})
}

// The first member of a fleet gets hosts when the epoch is 2 s old, also if an
// earlier fleet has ended.
func TestScript_FirstMember(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a := f.joinScript(10 * time.Second)
		a.mustBeClosed(2 * time.Second)
		c := a.newCall(false)
		c.addEnd(endedSession{a.session, a.callNumber})
		if _, err := a.runScript(c.args); err != nil {
			f.Fatal(err)
		}
		f.failOver()
		f.joinScript(10 * time.Second).mustBeClosed(2 * time.Second)
	})
}

// Redis evicts one of the keys. The keys that are left show that the fleet has
// members.
func TestScript_EvictedKey(t *testing.T) {
	const lease = 10 * time.Second
	t.Parallel()
	for _, key := range []string{"fleet", "hosts", "sessions"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			f := newRedisTestFleet(t)
			f.joinScript(lease).join()
			f.command("del", keyPrefix+key)
			f.joinScript(lease).mustBeClosed(lease + time.Second)
		})
	}
}

// Another program has overwritten the data of a host, so the owner of the host
// is unknown, and a new epoch has to begin.
func TestScript_InvalidHost(t *testing.T) {
	const lease = 10 * time.Second
	t.Parallel()
	f := newRedisTestFleet(t)
	a, stranger := f.joinScript(lease), f.joinScript(lease)
	a.join()
	f.command("hset", keyPrefix+"hosts", host, "not msgpack")
	c := a.newCall(false)
	c.add("want", a.host, &a.host.record)
	reply, err := a.runScript(c.args)
	if err != nil || element[string](reply, 0) != "epoch" || element[string](reply, 2) != host {
		f.Fatalf("the reply is %v (error %v), want that the epoch has ended because of %s", reply, err, host)
	}
	stranger.mustBeClosed(lease + time.Second)
}

// A member sends a call to a server that does not know the script yet, as after
// a failover. The member must learn that the call has not run: then it can
// still register in the new epoch a host that it was giving back.
func TestScript_UnknownToTheServer(t *testing.T) {
	t.Parallel()
	f := newRedisTestFleet(t)
	a := f.joinScript(10 * time.Second)
	a.join()
	f.failOver()
	f.command("script", "flush")
	reply, err := a.runScript(a.newCall(false).args)
	if err != nil || element[string](reply, 0) != "epoch" || element[string](reply, 1) != "1" {
		f.Errorf("the reply is %v (error %v), want that the call was sent once, in another epoch", reply, err)
	}
}

// A host is offered to a member that no longer wants it, and is then offered to
// another one. That member has the whole time of an offer to accept it.
func TestScript_SecondOffer(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b, c, d := f.joinScript(0), f.joinScript(0), f.joinScript(0), f.joinScript(0)
		f.openEpoch(a, b, c, d)
		a.own()
		b.want()
		c.want()
		a.send("give")
		first, second := b, c
		if owner := element[int64](d.want(), 1); owner == c.session {
			first, second = c, b
		}
		d.send("drop") // leaves the queue
		time.Sleep(time.Second)
		dropped := time.Now()
		first.send("drop")
		time.Sleep(800 * time.Millisecond)
		result := d.want()
		isOffered := time.Since(dropped) < 1500*time.Millisecond // on a busy machine, the offer may be over
		if isOffered && (element[string](result, 0) != "other" || element[int64](result, 1) != second.session) {
			f.Errorf("the result of the operation is %v, want the status %q and session %d, to which the host is offered", result, "other", second.session)
		}
		time.Sleep(800 * time.Millisecond)
		d.own()
	})
}

// A host is offered to a member that does not accept it. Meanwhile a request
// that was in flight ends with a 429. That does not prolong the offer.
func TestScript_LateStateDuringAnOffer(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b, c := f.joinScript(0), f.joinScript(0), f.joinScript(0)
		f.openEpoch(a, b, c)
		a.own()
		b.want()
		a.host.record.InFlight = 1
		a.send("give")
		time.Sleep(time.Second)
		a.host.lateRecord = datedRecord{fleet.Record{State: []byte("late"), Keep: time.Minute}, time.Now()}
		a.send("land")
		time.Sleep(600 * time.Millisecond)
		late := element[[]any](c.own(), 8)
		if len(late) != 3 || element[string](late, 2) != "late" {
			f.Errorf("the late states (number, age, state) are %v, want only that with the state %q", late, "late")
		}
	})
}

// All members in the queue have been silent for so long that none gets an
// offer, as after a failover. They are notified nevertheless, because the host
// is available to the first one that requests it.
func TestScript_AllWaitersSilent(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.joinScript(0), f.joinScript(0)
		f.openEpoch(a, b)
		a.own()
		b.want()
		received := make(chan string, 10)
		subscription, cancel := context.WithCancel(f.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			channel := fmt.Sprint(keyPrefix, b.epoch, ":", b.session)
			b.engine.subscribe(subscription, channel, func(m string) { received <- m })
		}()
		<-received // the subscription has begun
		for range 3 {
			time.Sleep(time.Second)
			a.send()
		}
		a.send("give")
		select {
		case m := <-received:
			if m != host {
				f.Errorf("the notification is %q, want %q", m, host)
			}
		case <-time.After(5 * time.Second):
			f.Error("the member is not notified that it may request the host, want a notification")
		}
		b.own()
		cancel()
		<-ended
	})
}

// A session that had requests in flight ends. The next owner's data no longer
// contains it.
func TestScript_RequestsOfAnEndedSession(t *testing.T) {
	t.Parallel()
	f := newRedisTestFleet(t)
	a, b := f.joinScript(0), f.joinScript(0)
	f.openEpoch(a, b)
	a.own()
	a.host.record.InFlight = 1
	a.send("give")
	stored := func() any { return f.command("hstrlen", keyPrefix+"hosts", host) }
	before := stored()
	if flight := element[int64](b.own(), 7); flight != 1 {
		f.Errorf("the next owner receives %d requests of other members in flight, want 1", flight)
	}
	b.send("give")
	c := b.newCall(false)
	c.addEnd(endedSession{a.session, a.callNumber})
	if _, err := b.runScript(c.args); err != nil {
		f.Fatal(err)
	}
	if flight := element[int64](b.own(), 7); flight != 0 {
		f.Errorf("after the end of the other session, the owner receives %d requests in flight, want none", flight)
	}
	if after := stored(); after.(int64) >= before.(int64) {
		f.Errorf("the stored host has %d bytes, want less than the %d while a request was in flight", after, before)
	}
}
