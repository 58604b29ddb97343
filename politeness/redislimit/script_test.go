package redislimit

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// A scene is a fleet for one test of the script. The test makes each member's
// calls itself.
type scene struct {
	*testing.T
	newEngine func() engine
	failOver  func()                // Redis loses no data, but the epoch ends
	command   func(args ...any) any // runs a command; nil in memory
	prefix    string
}

// runScene runs a test in memory and in fake time, and then in a real Redis and
// in real time.
func runScene(t *testing.T, test func(*scene)) {
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := new(memory)
			test(&scene{
				T:         t,
				newEngine: func() engine { return &link{memory: m} },
				failOver:  func() { m.promote(m.snapshot()) },
				prefix:    "{scene}",
			})
		})
	})
	runRedisScene(t, "redis", test)
}

// runRedisScene runs a test in a real Redis and in real time.
func runRedisScene(t *testing.T, name string, test func(*scene)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		client := redis.NewClient(&redis.Options{Addr: startServer(t)})
		t.Cleanup(func() { client.Close() })
		s := &scene{T: t, prefix: "{scene}"}
		s.command = func(args ...any) any {
			t.Helper()
			reply, err := client.Do(t.Context(), args...).Result()
			if err != nil {
				t.Fatal(err)
			}
			return reply
		}
		s.newEngine = func() engine {
			return &server{client, []string{"{scene}fleet", "{scene}hosts", "{scene}sessions"}}
		}
		s.failOver = func() {
			s.command("replicaof", "127.0.0.1", "1") // changes the master_replid
			s.command("replicaof", "no", "one")
		}
		test(s)
	})
}

// A puppet is a member whose calls are made by a test. All of them concern one
// host.
type puppet struct {
	*member
	scene *scene
	host  *hostState
}

// open starts sessions in a new epoch and waits until hosts are handed out.
func (s *scene) open(members ...*puppet) {
	s.Helper()
	for _, p := range members {
		p.join()
	}
	for range 3 { // at most a second of each counts
		time.Sleep(time.Second)
		for _, p := range members {
			p.send()
		}
	}
}

// member returns a member without a session. 0 stands for the default Lease.
func (s *scene) member(lease time.Duration) *puppet {
	s.Helper()
	f, err := newFleet(s.newEngine(), s.prefix, Options{Lease: lease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.Fatal(err)
	}
	return &puppet{member: newMember(f), scene: s, host: &hostState{name: host}}
}

// join starts a session and returns the reply.
func (p *puppet) join() (reply []any) {
	p.scene.Helper()
	p.session = 0
	reply = p.send()
	p.startSession(element[string](reply, 3), element[int64](reply, 4))
	return reply
}

// send makes a call with the given operations and returns the reply.
func (p *puppet) send(operations ...string) (reply []any) {
	p.scene.Helper()
	c := p.newCall(false)
	for _, name := range operations {
		record := &p.host.record
		if name == "land" {
			record = &p.host.lateRecord
		}
		c.add(name, p.host, record)
	}
	reply, err := p.runScript(c.args)
	if status := element[string](reply, 0); err != nil || status != "ok" {
		p.scene.Fatalf("%v: the reply is %v (%v)", operations, reply, err)
	}
	return reply
}

// want requests the host and returns the result. If the member is the owner,
// its token is noted.
func (p *puppet) want() (result []any) {
	p.scene.Helper()
	result = element[[]any](element[[]any](p.send("want"), 2), 0)
	if element[string](result, 0) == "own" {
		p.host.token = element[int64](result, 1)
	}
	return result
}

// mustBeClosed starts a session in a new epoch, and checks that the epoch hands
// out the host when it has the given age.
func (p *puppet) mustBeClosed(until time.Duration) {
	p.scene.Helper()
	p.join()
	result := p.want()
	wait := milliseconds(result, 1)
	if element[string](result, 0) != "closed" || wait > until || wait < until-time.Second {
		p.scene.Errorf("the result of the operation is %v, want that the host is available in %v", result, until)
	}
}

// own requests the host, and fails the test unless the member is the owner
// then.
func (p *puppet) own() (result []any) {
	p.scene.Helper()
	result = p.want()
	if element[string](result, 0) != "own" {
		p.scene.Fatalf("the result of the operation is %v, want the ownership", result)
	}
	return result
}

// A member with a Lease of 20 s owns a host when Redis fails over, and is cut
// off. A member with a Lease of 10 s begins the new epoch. The new epoch does
// not hand out the host while the first member may send requests.
func TestScript_LongestLease(t *testing.T) {
	const long, short = 20 * time.Second, 10 * time.Second
	runScene(t, func(s *scene) {
		a, b := s.member(long), s.member(short)
		a.join()
		b.join()
		s.failOver()
		b.mustBeClosed(long + time.Second)
	})
}

// Redis loses all data while the member with the longest Lease is cut off. The
// other member knows that Lease, so the new epoch hands out the hosts when it
// is over.
func TestFleet_LongestLeaseAfterAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		a.Fleet.lease = 20 * time.Second
		a.Fleet.member = newMember(a.Fleet)
		for i, m := range []*sailor{a, b} {
			g, err := m.limiter.Acquire(t.Context(), &url.URL{Host: fmt.Sprintf("h%d.example", i)})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Done(ok200) // keeps the session alive
		}
		time.Sleep(2 * time.Second)
		a.die()
		c.memory.flush()
		time.Sleep(2 * time.Second)
		if state := c.memory.snapshot(); state.opens != 21_000 {
			t.Errorf("hosts are handed out when the epoch is %d ms old, want 21 s", state.opens)
		}
	})
}

// Redis fails over while a member that cannot reach it owns a host. The first
// member of the new epoch knew no earlier one, but the data shows that the
// fleet has members, so the host is handed out only when a Lease is over.
func TestScript_EpochOfAStranger(t *testing.T) {
	const lease = 10 * time.Second
	runScene(t, func(s *scene) {
		a := s.member(lease)
		a.join()
		s.failOver()
		s.member(lease).mustBeClosed(lease + time.Second)
	})
}

// The first member of a fleet gets hosts when the epoch is 2 s old, also if an
// earlier fleet has ended.
func TestScript_FirstMember(t *testing.T) {
	runScene(t, func(s *scene) {
		a := s.member(10 * time.Second)
		a.mustBeClosed(2 * time.Second)
		c := a.newCall(false)
		c.addEnd(endedSession{a.session, a.callNumber})
		if _, err := a.runScript(c.args); err != nil {
			s.Fatal(err)
		}
		s.failOver()
		s.member(10 * time.Second).mustBeClosed(2 * time.Second)
	})
}

// Redis evicts one of the keys. The keys that are left show that the fleet has
// members.
func TestScript_EvictedKey(t *testing.T) {
	const lease = 10 * time.Second
	t.Parallel()
	for _, key := range []string{"fleet", "hosts", "sessions"} {
		runRedisScene(t, key, func(s *scene) {
			s.member(lease).join()
			s.command("del", s.prefix+key)
			s.member(lease).mustBeClosed(lease + time.Second)
		})
	}
}

// Another program has overwritten the data of a host, so the owner of the host
// is unknown, and a new epoch has to begin.
func TestScript_InvalidHost(t *testing.T) {
	const lease = 10 * time.Second
	t.Parallel()
	runRedisScene(t, "redis", func(s *scene) {
		a, stranger := s.member(lease), s.member(lease)
		a.join()
		s.command("hset", s.prefix+"hosts", host, "not msgpack")
		c := a.newCall(false)
		c.add("want", a.host, &a.host.record)
		reply, err := a.runScript(c.args)
		if err != nil || element[string](reply, 0) != "epoch" || element[string](reply, 2) != host {
			s.Fatalf("the reply is %v (%v), want that the epoch has ended because of %s", reply, err, host)
		}
		stranger.mustBeClosed(lease + time.Second)
	})
}

// A member sends a call to a server that does not know the script yet, as after
// a failover. The member must learn that the call has not run: then it can
// still register in the new epoch a host that it was giving back.
func TestScript_UnknownToTheServer(t *testing.T) {
	t.Parallel()
	runRedisScene(t, "redis", func(s *scene) {
		a := s.member(10 * time.Second)
		a.join()
		s.failOver()
		s.command("script", "flush")
		reply, err := a.runScript(a.newCall(false).args)
		if err != nil || element[string](reply, 0) != "epoch" || element[string](reply, 1) != "1" {
			s.Errorf("the reply is %v (%v), want that the call was sent once, in another epoch", reply, err)
		}
	})
}

// A host is offered to a member that no longer wants it, and is then offered to
// another one. That member has the whole time of an offer to accept it.
func TestScript_SecondOffer(t *testing.T) {
	runScene(t, func(s *scene) {
		a, b, c, d := s.member(0), s.member(0), s.member(0), s.member(0)
		s.open(a, b, c, d)
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
		first.send("drop")
		time.Sleep(800 * time.Millisecond)
		if result := d.want(); element[string](result, 0) != "other" || element[int64](result, 1) != second.session {
			s.Errorf("the result is %v, want that the host is offered to member %d", result, second.session)
		}
		time.Sleep(800 * time.Millisecond)
		d.own()
	})
}

// A host is offered to a member that does not accept it. Meanwhile a request
// that was in flight ends with a 429. That does not prolong the offer.
func TestScript_LateStateDuringAnOffer(t *testing.T) {
	runScene(t, func(s *scene) {
		a, b, c := s.member(0), s.member(0), s.member(0)
		s.open(a, b, c)
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
			s.Errorf("the late states are %v, want one", late)
		}
	})
}

// All members in the queue have been silent for so long that none gets an
// offer, as after a failover. They are notified nevertheless, because the host
// is available to the first one that requests it.
func TestScript_AllWaitersSilent(t *testing.T) {
	runScene(t, func(s *scene) {
		a, b := s.member(0), s.member(0)
		s.open(a, b)
		a.own()
		b.want()
		received := make(chan string, 10)
		subscription, cancel := context.WithCancel(s.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			channel := fmt.Sprint(s.prefix, b.epoch, ":", b.session)
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
				s.Errorf("the notification is %q, want %q", m, host)
			}
		case <-time.After(5 * time.Second):
			s.Error("the member is not notified")
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
	runRedisScene(t, "redis", func(s *scene) {
		a, b := s.member(0), s.member(0)
		s.open(a, b)
		a.own()
		a.host.record.InFlight = 1
		a.send("give")
		stored := func() any { return s.command("hstrlen", s.prefix+"hosts", host) }
		before := stored()
		if flight := element[int64](b.own(), 7); flight != 1 {
			s.Errorf("%d requests are in flight, want 1", flight)
		}
		b.send("give")
		c := b.newCall(false)
		c.addEnd(endedSession{a.session, a.callNumber})
		if _, err := b.runScript(c.args); err != nil {
			s.Fatal(err)
		}
		if flight := element[int64](b.own(), 7); flight != 0 {
			s.Errorf("%d requests are in flight, want none", flight)
		}
		if after := stored(); after.(int64) >= before.(int64) {
			s.Errorf("the data has %d bytes, and had %d while a request was in flight", after, before)
		}
	})
}
