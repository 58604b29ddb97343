package politeness

import (
	"context"
	"errors"
	"time"
)

// A Backend keeps the pace of hosts for several Limiters, so that a fleet of
// processes asks a host no more often than one would. Package redislimit has one
// in Redis or Valkey; package limittest checks any, and has one in memory.
//
// The Limiter goes on to do what it does alone: each has its queues, and lets
// nobody start whom its own knowledge of the host forbids. Only who may start as
// far as it knows, the first in line, asks the Backend.
//
//   - Methods are called by many goroutines at once, and with no lock held, but
//     for Pause and Slot.Free, which must therefore return at once, and not call
//     the Limiter.
//   - Times are durations, or time.Times with a monotonic reading. What the
//     members' wall clocks say must not matter.
//   - What a host has been asked for is forgotten once it makes no difference.
type Backend interface {
	// Take takes the host's next slot: the earliest moment that is
	//
	//   - terms.Pace after every earlier slot;
	//   - unless terms.Exempt, the Crawl-delay after every earlier slot that was
	//     not exempt. An exempt slot may come before slots that were taken
	//     already, if it leaves terms.Pace on both sides;
	//   - not in a pause.
	//
	// If that is later than terms.MaxWait from now, it takes nothing and returns
	// a *DelayError with the time. It waits for no slot, only for the answer. Any
	// error but a DelayError fails the request; the context's own error does too.
	Take(ctx context.Context, host string, terms Terms) (Slot, error)

	// Pause lets no slot of the host begin for so long, those that were taken
	// before included. A longer pause that is in force stays.
	Pause(host string, wait time.Duration)
}

// A Slot is the right to start one request to a host at a certain moment. It is
// used by one goroutine at a time.
type Slot interface {
	// At is when to call Claim, a little before the moment at most.
	At() time.Time

	// Claim waits for the moment, which is near, and reports whether the slot
	// still stands. If so the request starts now, and counts as in flight until
	// Free. It does not stand if the host has been paused since, if terms.Concurrency
	// requests are in flight, or if it is too late because the next slot is near.
	// The Limiter then frees it and takes another, so a Backend that cannot name
	// a time gives a slot that will not stand, and is asked again.
	Claim(ctx context.Context) bool

	// Free gives the slot back if it was not claimed, for others if it is still
	// the host's last. If it was, the request is over. Only the first call counts.
	Free()
}

// Terms are what a request asks of its slot.
type Terms struct {
	Delay       time.Duration // Limiter.Delay: the same throughout a fleet. 0: none
	Pace        time.Duration // the least time from any slot to this one: Delay, or the adaptive delay
	CrawlDelay  time.Duration // the host's, 0 if it has none. Together with Told
	Told        bool          // CrawlDelay is known. Else that which a Limiter told last holds
	Exempt      bool          // the fetch of robots.txt itself; see Exempt
	Jitter      float64       // lengthens Pace and CrawlDelay by this fraction
	Concurrency int           // requests in flight to the host; 1 where there is a Crawl-delay
	EndToStart  bool          // Free counts as the start does
	Lease       time.Duration // after which a claimed slot is free even without Free
	MaxWait     time.Duration // the longest wait that is worth while
}

// turn is what g has to do with the backend.
type turn struct {
	terms   Terms
	slot    Slot          // nil: none
	at      time.Duration // when to claim it
	claimed time.Duration // when it was; never: not yet
}

// drop frees the slot.
func (t *turn) drop() {
	if t != nil && t.slot != nil {
		t.slot.Free()
		t.slot = nil
	}
}

// passes is when the slot, once claimed, is too old to start by. Whoever is held up
// for longer, by the limiters within or by one that it lets go first, must drop it:
// to the backend it is a request in flight, and others may wait for its end.
func (t *turn) passes() time.Duration {
	if t == nil || t.slot == nil || t.claimed == never {
		return forever
	}
	return later(t.claimed, max(t.terms.Pace/4, 5*time.Millisecond)+1)
}

// shared is what g sees that may start as far as its Limiter knows: whether it
// has to consult the backend, or wait for its slot.
func (g *Grant) shared(now time.Duration) look {
	l := g.limiter
	if g.turn == nil {
		g.turn = new(turn)
	}
	t := g.turn
	if t.slot != nil && t.claimed == never {
		if t.at > now {
			g.until = t.at
			return look{wait: t.at - now, until: t.at}
		}
		return look{consult: true, until: now}
	}
	if t.slot != nil {
		return look{started: true, until: now}
	}
	t.terms = l.terms(g, now)
	return look{consult: true, until: now}
}

func (l *Limiter) terms(g *Grant, now time.Duration) Terms {
	h := g.host
	crawl := l.crawlDelay(h, g)
	patience := forever
	switch {
	case crawl > l.set.maxCrawl:
		patience = 0 // it is obeyed, but not waited for
	case g.limit != forever:
		patience = max(g.limit-now-1, 0)
	}
	return Terms{
		Delay: l.set.delay, Pace: l.pace(h), CrawlDelay: crawl, Told: g.told || crawl > 0, Exempt: g.exempt,
		Jitter: float64(h.jitter), Concurrency: int(l.slots(h, g)), EndToStart: l.EndToStart, Lease: l.set.lease, MaxWait: patience,
	}
}

// consult takes g's slot, or claims the one that it has. It may take as long as
// the backend does, and holds no lock.
func (l *Limiter) consult(ctx context.Context, g *Grant) error {
	t := g.turn // set by shared; only this goroutine and dequeue touch it
	l.mu.Lock()
	slot, terms := t.slot, t.terms
	l.mu.Unlock()
	if slot != nil {
		stands := slot.Claim(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.claimed = l.now(); !stands {
			t.drop()
		}
		return nil
	}
	slot, err := l.Shared.Take(ctx, g.key, terms)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	t.slot, t.claimed, t.at = slot, never, later(now, time.Until(slot.At()))
	if g.state != queued {
		t.drop() // it has become hopeless meanwhile
	} else if t.at > now {
		l.retime(g.host, now) // for those behind it
	}
	return nil
}

// unshared takes g, which the backend has refused, out of every queue.
func (l *Limiter) unshared(ctx context.Context, g *Grant, err error, waited time.Duration) error {
	refusal, ok := errors.AsType[*DelayError](err)
	if !ok {
		g.leave()
		l.cancelled(ctx, g, waited)
		return err
	}
	g.leave()
	l.refused(ctx, g, waited, refusal.Until)
	return err
}

// pledged is when h's first in the line may start as the backend has it.
func (r *grantRing) pledged() time.Duration {
	if r.first == nil || r.first.turn == nil || r.first.turn.slot == nil {
		return never
	}
	return r.first.turn.at
}
