package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/politeness"
)

// Each of these tests shows what a fleet does if one thing goes wrong.
// TestStorm lets everything go wrong at once.

// crew is a fleet whose members use the same memory in place of Redis.
type crew struct {
	*testing.T
	memory memory
}

func (c *crew) calls() int {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.memory.calls
}

// sailor is a member of a crew.
type sailor struct {
	*Fleet
	link    *link
	limiter *politeness.Limiter
}

func (c *crew) member(l *politeness.Limiter) *sailor {
	s := &sailor{link: &link{memory: &c.memory}, limiter: l}
	var err error
	if s.Fleet, err = newFleet(s.link, "{test}", Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		c.Fatal(err)
	}
	l.Fleet = s.Fleet
	return s
}

// ask makes a request to shop.example that ends with the outcome o. The
// argument "wait" limits how long the request waits. The result is how long it
// waited.
func (s *sailor) ask(t *testing.T, wait time.Duration, o politeness.Outcome) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	began := time.Now()
	g, err := s.limiter.Acquire(ctx, &url.URL{Host: "shop.example"})
	g.Done(o)
	return time.Since(began), err
}

// begin starts a request to shop.example, which is in flight until Done.
func (s *sailor) begin(t *testing.T) *politeness.Grant {
	t.Helper()
	g, err := s.limiter.Acquire(t.Context(), &url.URL{Host: "shop.example"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// mustAsk is ask, but the test fails if no request starts within a minute.
func (s *sailor) mustAsk(t *testing.T, o politeness.Outcome) {
	t.Helper()
	if _, err := s.ask(t, time.Minute, o); err != nil {
		t.Fatal(err)
	}
}

// mustStartBetween fails the test unless a request of s starts when
// shop.example has been paused for least, and for most at most.
func (s *sailor) mustStartBetween(t *testing.T, paused time.Time, least, most time.Duration) {
	t.Helper()
	if _, err := s.ask(t, 10*time.Minute, ok200); err != nil {
		t.Fatal(err)
	}
	if after := time.Since(paused); after < least || after > most {
		t.Errorf("the next owner started %v after the 429, want %v to %v", after, least, most)
	}
}

// die cuts the member off, as if kill -9 had ended its process.
func (s *sailor) die() { s.link.sever(true) }

var ok200 = politeness.Outcome{Status: 200}

// A host asks for a pause, and the owner dies. The next owner keeps the pause.
func TestWeather_PauseOfADeadOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		a.ask(t, time.Minute, tooMany("28"))
		paused := time.Now()
		time.Sleep(2 * time.Second)
		a.die()
		b.mustStartBetween(t, paused, 28*time.Second, 45*time.Second)
	})
}

// If a member has a session whose end Redis cannot confirm, Close returns an
// error. A member without a session can be closed without Redis.
func TestWeather_CloseWithoutRedis(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*testing.T, *sailor)
		want   string // "" means no error
	}{
		"never asked":       {func(t *testing.T, s *sailor) { s.die() }, ""},
		"well":              {func(t *testing.T, s *sailor) { s.ask(t, time.Minute, ok200) }, ""},
		"without its hosts": {func(t *testing.T, s *sailor) { s.ask(t, time.Minute, ok200); time.Sleep(time.Hour); s.die() }, ""},
		"cut off":           {func(t *testing.T, s *sailor) { s.ask(t, time.Minute, ok200); s.die() }, "the hosts of this member are paused until the session expires"},
		"cut off for long":  {func(t *testing.T, s *sailor) { s.ask(t, time.Minute, ok200); s.die(); time.Sleep(5 * time.Second) }, "the hosts of this member are paused until the session expires"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := (&crew{T: t}).member(&politeness.Limiter{})
				tt.before(t, s)
				err := s.Close()
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("Close returns %v, want %q", err, tt.want)
				}
			})
		})
	}
}

// Close without Redis returns an error even if a request waits for a host that
// this member owns.
func TestWeather_CloseWithoutRedisAmongRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&crew{T: t}).member(&politeness.Limiter{Delay: time.Hour})
		s.ask(t, time.Minute, ok200)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.limiter.Acquire(ctx, &url.URL{Host: "shop.example"})
		}()
		synctest.Wait()
		s.die()
		time.Sleep(5 * time.Second)
		if err := s.Close(); err == nil {
			t.Error("Close says that Redis has confirmed")
		}
		cancel()
		<-done
	})
}

// Close returns nil within a short time, even if requests come while it runs.
func TestWeather_CloseAmongRequests(t *testing.T) {
	t.Parallel()
	for range 60 { // a fault would show only in some orders of events, so try often
		f, err := newFleet(&link{memory: new(memory)}, "{test}", Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l := &politeness.Limiter{Fleet: f}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var n atomic.Int64
		for range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					short, cancel := context.WithTimeout(ctx, time.Millisecond)
					if g, err := l.Acquire(short, &url.URL{Host: fmt.Sprint("h", n.Add(1), ".example")}); err == nil {
						g.Done(ok200)
					}
					cancel()
				}
			})
		}
		time.Sleep(3 * time.Millisecond)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		wg.Wait()
		f.Close() // waits for the goroutine that requests after the first Close may have started
	}
}

// As soon as a new fleet is 2 s old, it gives away all the hosts that its
// members wait for, however many they are.
func TestWeather_ManyHostsOfANewFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&crew{T: t}).member(&politeness.Limiter{})
		defer s.Close()
		const hosts = 3 * maxHostsPerHeartbeat
		began := time.Now()
		var wg sync.WaitGroup
		for i := range hosts {
			wg.Go(func() {
				g, err := s.limiter.Acquire(t.Context(), &url.URL{Host: fmt.Sprintf("h%d.example", i)})
				if err != nil {
					t.Error(err)
				}
				g.Done(ok200)
			})
		}
		wg.Wait()
		if took := time.Since(began); took < 2*time.Second || took > 2100*time.Millisecond {
			t.Errorf("%d hosts were had after %v, want 2 s", hosts, took)
		}
	})
}

// A closed Fleet refuses its Limiter a host. The Limiter then keeps nothing
// about the host.
func TestWeather_ClosedKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&crew{T: t}).member(&politeness.Limiter{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ask(t, time.Second, ok200); !errors.Is(err, errClosed) {
			t.Errorf("%v, want errClosed", err)
		}
		time.Sleep(time.Minute)
		began := time.Now()
		if _, err := s.ask(t, time.Second, ok200); !errors.Is(err, errClosed) || time.Since(began) > 0 {
			t.Errorf("after a minute: %v, after %v", err, time.Since(began))
		}
	})
}

// A host is given to a member that has just died. The host then goes to another
// member that waits. The host need not rest, because the dead member never
// owned it.
func TestWeather_GivenToTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a := c.member(&politeness.Limiter{})
		defer a.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g, err := a.limiter.Acquire(ctx, &url.URL{Host: "shop.example"})
		if err != nil {
			t.Fatal(err)
		}
		var waiting []*sailor
		came := make(chan time.Time, 4)
		for range 4 { // three of the four die, so the next one in turn is probably dead
			s := c.member(&politeness.Limiter{})
			defer s.Close()
			waiting = append(waiting, s)
			go func() {
				if _, err := s.ask(t, 5*time.Minute, ok200); err == nil {
					came <- time.Now()
				}
			}()
		}
		time.Sleep(1900 * time.Millisecond)
		for _, s := range waiting[:3] {
			s.die()
		}
		g.Done(ok200)
		given := time.Now()
		if after := (<-came).Sub(given); after > 8*time.Second { // up to three offers of 1.5 s each; members ask again every second
			t.Errorf("the one that lives had the host after %v", after)
		}
	})
}

// Dead members have left records in Redis. The next member removes the records,
// even if that member comes hours later.
func TestWeather_RecordsOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		for range 3 {
			s := c.member(&politeness.Limiter{})
			defer s.Close()
			s.ask(t, 10*time.Second, ok200)
			go s.ask(t, time.Hour, ok200)
			time.Sleep(time.Second)
			s.die()
		}
		time.Sleep(2 * time.Hour)
		if n := len(c.memory.snapshot().sessions); n == 0 {
			t.Fatal("nothing is left: the test tests nothing")
		}
		s := c.member(&politeness.Limiter{})
		stop, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for stop.Err() == nil {
				s.ask(t, time.Minute, ok200)
			}
		}()
		time.Sleep(time.Minute)
		if sessions := c.memory.snapshot().sessions; len(sessions) != 1 {
			t.Errorf("sessions: %v", sessions)
		}
		cancel()
		<-ended
		s.Close()
		if state := c.memory.snapshot(); len(state.sessions) != 0 {
			t.Errorf("at last: %+v", state)
		}
	})
}

// An owner whose only host is paused makes no more calls to Redis. The pause is
// known to the next owner.
func TestWeather_PausedHostEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a := c.member(&politeness.Limiter{})
		defer a.Close()
		a.ask(t, time.Minute, tooMany("3600"))
		time.Sleep(20 * time.Second)
		calls := c.calls()
		time.Sleep(10 * time.Minute)
		if n, sessions := c.calls()-calls, c.memory.snapshot().sessions; n > 0 || len(sessions) > 0 {
			t.Errorf("%d calls for a host that is paused, and the sessions %v", n, sessions)
		}
		b := c.member(&politeness.Limiter{})
		defer b.Close()
		if _, err := b.ask(t, time.Minute, ok200); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the pause is not kept by another member: %v", err)
		}
	})
}

// While Redis hangs, no request waits longer than its deadline. The error says
// who owned the host, and since when Redis has been away.
func TestWeather_RefusalWhileRedisHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g, err := a.limiter.Acquire(ctx, &url.URL{Host: "shop.example"})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Done(ok200)
		took, err := b.ask(t, 1500*time.Millisecond, ok200)
		if delay, ok := errors.AsType[*politeness.DelayError](err); !ok || took > 1500*time.Millisecond ||
			delay.Until.Before(time.Now()) || !strings.Contains(err.Error(), "member 1 of the fleet owns it") || !strings.Contains(err.Error(), "at about") {
			t.Errorf("after %v: %v", took, err)
		}
		go b.ask(t, 2*time.Minute, ok200)
		time.Sleep(time.Second)
		cut := time.Now()
		b.link.sever(true)
		time.Sleep(30 * time.Second)
		for _, patience := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 900 * time.Millisecond, 5 * time.Second} {
			took, err := b.ask(t, patience, ok200)
			away, ok := errors.AsType[*AwayError](err)
			if !ok || took > patience {
				t.Errorf("patience for %v: after %v, %v", patience, took, err)
				continue
			}
			if away.Owner != "member 1" || away.Since.After(cut.Add(time.Second)) || away.Since.Before(cut.Add(-2*time.Second)) ||
				!strings.Contains(err.Error(), fmt.Sprint("since ", away.Since.Format(time.RFC3339))) {
				t.Errorf("%+v: %v", away, err)
			}
		}
		never := c.member(&politeness.Limiter{MaxWait: -1})
		defer never.Close()
		never.link.sever(true)
		for range 5 {
			if took, err := never.ask(t, time.Minute, ok200); err == nil || took > 0 {
				t.Errorf("without a wait: after %v, %v", took, err)
			}
			time.Sleep(time.Second)
		}
	})
}

// A member trusts its session only while the Lease still runs by both clocks,
// because either may fall behind. The monotonic clock may stand still while the
// machine is suspended, and the wall clock may be set back.
func TestWeather_Suspend(t *testing.T) {
	f, err := newFleet(&link{memory: new(memory)}, "{test}", Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const lease = 10 * time.Second
	for _, tt := range []struct {
		name            string
		monotonic, wall time.Duration // the time since the renewal, by each clock
		want            bool
	}{
		{"just renewed", time.Second, time.Second, true},
		{"silent for long", lease, lease, false},
		{"suspended", time.Second, lease, false},
		{"set back", lease, time.Second, false},
		{"set back by an hour", time.Second, -time.Hour, true},
	} {
		sent := time.Now().Add(-tt.monotonic)
		wall := (*uint64)(unsafe.Pointer(&sent)) // Time's first field: a flag, 33 bits of seconds, 30 bits of nanoseconds
		*wall -= uint64((tt.wall-tt.monotonic)/time.Second) << 30
		now := time.Now()
		if m, w := now.Sub(sent), now.Round(0).Sub(sent.Round(0)); m.Round(time.Second) != tt.monotonic || w.Round(time.Second) != tt.wall {
			t.Fatalf("time.Time is not what this test takes it for: %v, %v", m, w)
		}
		f.renewedAt.Store(&sent)
		if got := f.Trusted(); got != tt.want {
			t.Errorf("%s: trusted is %t", tt.name, got)
		}
	}
}

// lossy loses the first calls that give a host away.
type lossy struct {
	*link
	lose atomic.Int32
}

func (l *lossy) run(ctx context.Context, args []any) ([]any, error) {
	if slices.Contains(args, any("give")) && l.lose.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, errCut
	}
	return l.link.run(ctx, args)
}

// An owner gives its host away, but the call is lost. The owner repeats the
// call, so the next owner keeps the interval. The same is true if the first
// owner asks for the host in the meantime, and then gives up.
func TestWeather_LostGive(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name        string
		lost        int32         // the number of calls that are lost
		ask, cancel time.Duration // when the first owner makes its second request, and when it gives up
	}{
		{"the ask is lost with it", 2, 0, 3500 * ms},
		{"the ask is not sent", 1, 500 * ms, 1075 * ms}, // between the first and second attempt to give
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const delay = 10 * time.Second
				c := &crew{T: t}
				a, b := c.member(&politeness.Limiter{Delay: delay}), c.member(&politeness.Limiter{Delay: delay})
				defer a.Close()
				defer b.Close()
				engine := &lossy{link: a.link}
				engine.lose.Store(test.lost)
				a.Fleet.engine = engine
				keep, err := a.limiter.Acquire(t.Context(), &url.URL{Host: "other.example"}) // keeps the session of the first member alive
				if err != nil {
					t.Fatal(err)
				}
				defer keep.Done(ok200)
				if _, err := a.ask(t, time.Minute, ok200); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(test.cancel, cancel)
				go func() {
					time.Sleep(test.ask)
					if _, err := a.limiter.Acquire(ctx, &url.URL{Host: "shop.example"}); !errors.Is(err, context.Canceled) {
						t.Errorf("the second request: %v", err)
					}
				}()
				time.Sleep(10 * ms)
				if _, err := b.ask(t, time.Minute, ok200); err != nil {
					t.Fatal(err)
				}
				if gap := time.Since(began); gap < delay || gap > delay+3*time.Second {
					t.Errorf("the next owner started %v after the last", gap)
				}
			})
		})
	}
}

// forgetful loses all state just before the first call that gives a host away.
type forgetful struct {
	*link
	forgot bool
}

func (l *forgetful) run(ctx context.Context, args []any) ([]any, error) {
	if !l.forgot && slices.Contains(args, any("give")) {
		l.forgot = true
		l.memory.flush()
	}
	return l.link.run(ctx, args)
}

// Redis forgets everything just before a host is given away. The owner enters
// the host into the new epoch and gives it away there, so the host does not
// rest.
func TestWeather_GiveOfAnEarlierEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 6 * time.Second
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{Delay: delay}), c.member(&politeness.Limiter{Delay: delay})
		defer a.Close()
		defer b.Close()
		a.Fleet.engine = &forgetful{link: a.link}
		keep, err := a.limiter.Acquire(t.Context(), &url.URL{Host: "other.example"}) // keeps the session of the first member alive
		if err != nil {
			t.Fatal(err)
		}
		defer keep.Done(ok200)
		a.mustAsk(t, ok200)
		began := time.Now()
		b.mustAsk(t, ok200)
		if gap := time.Since(began); gap < delay || gap > delay+2*time.Second {
			t.Errorf("the next owner started %v after the last", gap)
		}
	})
}

// absent loses all state just after the first call that gives a host away, when
// no member owns the host.
type absent struct {
	*link
	forgot chan struct{} // closed when the state is lost
	once   sync.Once
}

func (l *absent) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := l.link.run(ctx, args)
	if slices.Contains(args, any("give")) {
		l.once.Do(func() {
			l.memory.flush()
			close(l.forgot)
		})
	}
	return reply, err
}

// Redis forgets everything while a host has no owner, and forgets again before
// the host may be given away. The host rests for a Lease and a second after the
// last loss, and no longer. Then members hand it over as fast as before.
func TestWeather_LossesInAHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 100 * time.Millisecond
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{Delay: delay}), c.member(&politeness.Limiter{Delay: delay})
		defer a.Close()
		defer b.Close()
		engine := &absent{link: a.link, forgot: make(chan struct{})}
		a.Fleet.engine = engine
		a.ask(t, time.Minute, ok200)
		came := make(chan error, 1)
		go func() {
			_, err := b.ask(t, 5*time.Minute, ok200)
			came <- err
		}()
		<-engine.forgot
		for range 3 {
			time.Sleep(6 * time.Second)
			c.memory.flush()
		}
		lost := time.Now()
		if err := <-came; err != nil {
			t.Fatal(err)
		}
		if rest, want := time.Since(lost), a.lease+time.Second; rest < want || rest > want+time.Second {
			t.Errorf("the host rested for %v after the last loss, want %v", rest, want)
		}
		for i := range 10 {
			if took, err := []*sailor{a, b}[i%2].ask(t, time.Minute, ok200); err != nil || i > 0 && took > 2*delay {
				t.Errorf("hand-over %d took %v: %v", i, took, err)
			}
		}
	})
}

// muffled runs the first call that enters hosts into a new epoch, but the
// answer to this call is lost. All calls after it are lost too, except joins,
// until the test sets the field "mended".
type muffled struct {
	*link
	begun, mended atomic.Bool
}

func (l *muffled) run(ctx context.Context, args []any) ([]any, error) {
	if joins(args) || l.mended.Load() {
		return l.link.run(ctx, args)
	}
	if l.begun.Load() {
		<-ctx.Done()
		return nil, errCut
	}
	reply, err := l.link.run(ctx, args)
	if slices.Contains(args, any("register")) {
		l.begun.Store(true)
		<-ctx.Done()
		return nil, errCut
	}
	return reply, err
}

// A member enters its host into a new epoch, but the answer is lost. The member
// makes another request while it still trusts its earlier session. Later it
// asks for the host again, but gives up before it gets the host. Even so, the
// first request of the next owner starts no sooner than an interval after the
// member's last request.
func TestWeather_LostEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 8 * time.Second
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{Delay: delay}), c.member(&politeness.Limiter{Delay: delay})
		defer a.Close()
		defer b.Close()
		engine := &muffled{link: a.link}
		a.Fleet.engine = engine
		shop := &url.URL{Host: "shop.example"}
		g, err := a.limiter.Acquire(t.Context(), shop)
		if err != nil {
			t.Fatal(err)
		}
		c.memory.flush()
		time.AfterFunc(8500*time.Millisecond, func() { g.Done(ok200) })
		if g, err = a.limiter.Acquire(t.Context(), shop); err != nil {
			t.Fatal(err)
		}
		last := time.Now()
		g.Done(ok200)
		ctx, cancel := context.WithCancel(t.Context())
		go a.limiter.Acquire(ctx, shop)
		time.AfterFunc(4500*time.Millisecond, cancel)
		time.AfterFunc(4700*time.Millisecond, func() { engine.mended.Store(true) })
		b.mustAsk(t, ok200)
		if gap := time.Since(last); gap < delay || gap > 2*delay {
			t.Errorf("the next owner started %v after the last", gap)
		}
	})
}

// A member enters its host into a new epoch, but the answer is lost. Then the
// member needs this host no more, and goes on using another host. The next
// member must get the first host.
func TestWeather_LostEnterOfAHostNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{T: t}
		a, b := c.member(&politeness.Limiter{}), c.member(&politeness.Limiter{})
		defer a.Close()
		defer b.Close()
		engine := &muffled{link: a.link}
		a.Fleet.engine = engine
		g := a.begin(t)
		stop, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for stop.Err() == nil {
				g, _ := a.limiter.Acquire(stop, &url.URL{Host: "other.example"})
				g.Done(ok200)
			}
		}()
		time.Sleep(100 * time.Millisecond)
		c.memory.flush()
		time.AfterFunc(5*time.Second, func() { g.Done(ok200) })
		time.AfterFunc(11500*time.Millisecond, func() { engine.mended.Store(true) })
		began := time.Now()
		_, err := b.ask(t, 10*time.Minute, ok200)
		t.Logf("b has the host after %v: %v", time.Since(began), err)
		if err != nil || time.Since(began) > time.Minute {
			t.Errorf("b has the host after %v: %v", time.Since(began), err)
		}
	})
}
