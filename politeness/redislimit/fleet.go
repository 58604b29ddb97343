package redislimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"
)

//go:embed join.lua
var joinScript string

//go:embed pace.lua
var paceScript string

// paceFor is the script as only this run of the server is told it. Another server,
// to which Redis has failed over, or that was started in its place, does not
// know it; so nobody takes a slot there before a report has found out what it is.
func paceFor(run string) string { return paceScript + "\n-- " + run }

// lookFor reads the state of a host and the epoch. It is a script so that an older
// replica, which has been promoted meanwhile, does not vouch for a slot.
func lookFor(run string) string { return "return redis.call('MGET', KEYS[1], KEYS[2])\n-- " + run }

// who has the say about a request's time.
type who uint8

const (
	onRedis who = iota
	onOwn
	onReport // nobody before a report
)

func (b *Backend) mode(now time.Time) who {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.own != nil && !b.own.resume.IsZero() && !now.Before(b.own.resume) {
		b.back(now)
	}
	switch {
	case b.own != nil:
		return onOwn
	case b.sha == "" || b.unloaded:
		return onReport
	case now.Sub(b.joined) >= b.beat():
		b.startReport(now) // in passing
	}
	return onRedis
}

// beat is longer in a large fleet, because each report reads all the seats.
func (b *Backend) beat() time.Duration {
	return beat + time.Duration(b.seat.members)*5*time.Millisecond
}

// report is a run of join.lua.
type report struct {
	began   time.Time
	strayed bool        // it tells that requests may have been started without Redis
	slow    *time.Timer // notes that it fails
	done    chan struct{}
	err     error // once done
}

var errHung = errors.New("redislimit: the client does not return: set its timeouts, and ContextTimeoutEnabled")

// report begins a report, or joins one that is under way.
func (b *Backend) report() *report {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.startReport(time.Now())
}

// startReport is report with b.mu held.
func (b *Backend) startReport(now time.Time) *report {
	if r := b.joining; r != nil && now.Sub(r.began) < b.timeout {
		return r
	}
	r := &report{began: now, done: make(chan struct{})}
	if b.hung >= maxHung {
		r.err = errHung
		close(r.done)
		return r
	}
	strayed := 0
	if b.own != nil && b.own.sure && b.own.resume.IsZero() {
		r.strayed, strayed = true, 1
	}
	b.joining = r
	b.hung++
	r.slow = time.AfterFunc(b.timeout, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failed(r, errSlow) // whenever the client returns
	})
	go b.join(r, b.id, b.seat.number, millis(seatLife), strayed, millis(b.grace()), millis(stateLife), millis(settled))
	return r
}

// wait waits for r until limit.
func (b *Backend) wait(ctx context.Context, r *report, limit time.Time) error {
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	select {
	case <-r.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		select {
		case <-r.done:
		default:
			return errSlow
		}
	}
	return r.err
}

func (b *Backend) join(r *report, args ...any) {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	sent := time.Now()
	reply, err := b.client.Eval(ctx, joinScript, []string{b.fleetKey, b.epochKey}, args...).Slice()
	received := time.Now()
	var f fleet
	if err == nil {
		f, err = parseFleet(reply)
	}
	if err == nil {
		b.mu.Lock()
		known, fresh := f.run == b.run && !b.unloaded, b.run == ""
		f.sha, f.look = b.sha, b.look
		b.mu.Unlock()
		if !known {
			f.look, err = b.client.ScriptLoad(ctx, lookFor(f.run)).Result()
		}
		if !known && err == nil {
			f.sha, err = b.client.ScriptLoad(ctx, paceFor(f.run)).Result()
		}
		if fresh {
			b.tune(ctx)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r.slow.Stop()
	if b.hung--; b.joining == r {
		b.joining = nil
	}
	if err == nil {
		err = b.apply(f, r, sent, received)
	}
	if err != nil {
		b.failed(r, err)
	}
	r.err = err
	close(r.done)
}

// tune makes a new member's first slots as punctual as later ones: of a few
// answers one may have come back quickly.
func (b *Backend) tune(ctx context.Context) {
	for range 10 {
		sent := time.Now()
		t, err := b.client.Time(ctx).Result()
		if err != nil {
			return
		}
		received := time.Now()
		b.mu.Lock()
		b.clock.learn(sent, received, t.UnixMicro())
		b.mu.Unlock()
	}
}

// fleet is what a report answers.
type fleet struct {
	server, open               int64 // µs, ms
	seat, seats, members, gone int64
	run, sha, look             string
}

func parseFleet(reply []any) (f fleet, err error) {
	numbers := []*int64{&f.server, &f.open, &f.seat, &f.seats, &f.members, nil, &f.gone}
	if len(reply) != len(numbers) {
		return f, fmt.Errorf("redislimit: %d answers to a report", len(reply))
	}
	for i, n := range numbers {
		ok := false
		if n == nil {
			f.run, ok = reply[i].(string)
		} else {
			*n, ok = reply[i].(int64)
		}
		if !ok {
			return f, fmt.Errorf("redislimit: answer %d to a report is %v", i, reply[i])
		}
	}
	return f, nil
}

var errStrayed = errors.New("redislimit: a request was started meanwhile")

// apply takes note of what a report answers. b.mu is held.
func (b *Backend) apply(f fleet, r *report, sent, received time.Time) error {
	now := time.Now()
	ahead := b.clock // another server's clock may differ: learn sees that
	ahead.learn(sent, received, f.server)
	open := ahead.local(f.open * 1000)
	closed := open.After(now)
	if b.own != nil && b.own.sure && b.own.resume.IsZero() && !r.strayed && !closed {
		return errStrayed // Redis must know, so that it begins a new epoch
	}
	fresh := b.run == ""
	if closed && b.own == nil {
		b.own = &own{since: now, clock: b.clock, sure: true}
		b.stats.Epochs++
		b.log.Info("redislimit: Redis has no present state of the fleet, which goes on at its own time slots meanwhile",
			"first_report", fresh, "resume_in", open.Sub(now))
	}
	if f.run != b.run && f.gone > 0 {
		b.log.Warn("redislimit: Redis has evicted keys: set maxmemory-policy noeviction, or the pace may be forgotten", "evicted", f.gone)
	}
	b.run, b.sha, b.look, b.unloaded, b.clock, b.joined = f.run, f.sha, f.look, false, ahead, now
	b.sit(f, now)
	switch {
	case b.own == nil && fresh:
		b.tellPauses(now)
	case b.own == nil:
	case closed:
		if b.own.cause != nil {
			b.stats.Epochs++
		}
		b.own.cause, b.own.sure, b.own.resume = nil, true, open
	default:
		b.back(now)
	}
	return nil
}

// sit takes the seat that Redis gave. Fewer seats count only after a while: a
// Redis that has begun anew has not heard of all members yet.
func (b *Backend) sit(f fleet, now time.Time) {
	s := &b.seat
	if s.number != f.seat {
		s.number, s.since = f.seat, now
	}
	s.members = int(f.members)
	switch of := powerOfTwo(f.seats); {
	case of >= s.of:
		s.of, s.fewer = of, time.Time{}
	case s.fewer.IsZero():
		s.fewer = now
	case now.Sub(s.fewer) > 2*seatLife:
		s.of, s.fewer = of, time.Time{}
	}
}

// seated reports whether all others keep this member's cells free. b.mu is held.
func (b *Backend) seated() bool {
	return b.seat.number >= 0 && b.joined.Sub(b.seat.since) >= settled && b.own.since.Sub(b.joined) < seatLife/2
}

// lose notes that Redis does not answer as it should.
func (b *Backend) lose(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost(err)
}

// lost is lose with b.mu held.
func (b *Backend) lost(err error) {
	if b.own != nil {
		return
	}
	now := time.Now()
	b.own = &own{since: now, clock: b.clock, cause: err}
	b.startReport(now) // it may have been a hiccup
}

// failed notes a report without an answer. b.mu is held.
func (b *Backend) failed(r *report, err error) {
	b.lost(err)
	o := b.own
	if !o.resume.IsZero() || r.began.Before(o.since) {
		return
	}
	if r.began.After(o.failed) {
		o.failed = r.began
	}
	if !o.sure {
		o.sure = true
		b.stats.Lost++
		b.log.Warn("redislimit: Redis is away", "error", err, "seat", b.seat.number, "seats", b.seat.of, "stop", b.stop)
	}
}

// back gives Redis the say again. b.mu is held.
func (b *Backend) back(now time.Time) {
	if b.own.sure {
		b.stats.Back++
		b.log.Info("redislimit: Redis has the say", "own_slots_used", b.own.starts, "after", now.Sub(b.own.since))
	}
	b.own = nil
	b.tellPauses(now)
}

// tellPauses tells Redis of the pauses that it may not know. b.mu is held.
func (b *Backend) tellPauses(now time.Time) {
	for host, until := range b.pauses {
		if wait := until.Sub(now); wait > 0 {
			b.tell(host, "pause", millis(wait), millis(lead))
		} else {
			delete(b.pauses, host)
		}
	}
}
