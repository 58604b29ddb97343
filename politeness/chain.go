package politeness

import (
	"context"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A request needs the consent of several Limiters if Within or GlobalRate is
// set. Its Grants form a chain, with one stage for each Limiter: the Limiter of
// Acquire; its Within, the Within of that, and so on; and last, in the same
// order, the stage for the GlobalRate of each of these Limiters that has one.
// The request starts when all stages are ready, and takes a slot of each.
// Otherwise it takes none. Only the first Limiter learns from responses:
// back-off, quotas, adaptive delays and declared Crawl-delays do not exist in
// later stages. These have only Delay, Jitter, EndToStart, Concurrency, MaxWait
// and what PerHost sets.
//
// A request that waits at a later stage keeps its place in the queues before
// that stage. The requests behind it wait too. All hosts wait in the queue of a
// GlobalRate, so it must come after every Within: otherwise a request that
// waits for a slow machine would keep all hosts from starting. While a request
// waits for a token, the other requests to its machine, which are behind it,
// need a token too, unless they come from another Limiter (see
// Limiter.GlobalRate).

// appendStages appends to g, the first stage, a Grant for each other Limiter
// that must agree.
func (g *Grant) appendStages(ctx context.Context, u *url.URL) error {
	g.wake = make(chan struct{}, 1)
	last := g
	// setDeadline sets the same deadline for all stages. A later stage has no
	// Crawl-delay and is not exempt: these concern the first Limiter only.
	add := func(l *Limiter, key string) {
		last.next = &Grant{request: schedule.Request{Deadline: schedule.Forever}, limiter: l, key: key, wake: g.wake}
		last = last.next
	}
	for l := g.limiter.Within; l != nil; l = l.Within {
		l.init()
		key, err := l.hostKey(ctx, u)
		if err != nil {
			return err
		}
		add(l, key)
	}
	for l := g.limiter; l != nil; l = l.Within {
		if l.globalStage != nil {
			add(l.globalStage, "")
		}
	}
	return nil
}

// startIfReady starts g if all stages of the chain are ready. Otherwise g waits
// in their queues or is rejected: see try.
func (g *Grant) startIfReady() readiness { return g.try(true) }

// checkReady is like startIfReady, but does not start g.
func (g *Grant) checkReady() readiness { return g.try(false) }

// try checks whether all stages from g on are ready. If they are, and mayStart
// is true, g starts. If a stage is not ready, g stays in the queue of the first
// such stage, and in those of the stages before it. g leaves the queues of all
// stages after it. Limiters are locked in the order of the chain, and each
// stays locked while the next is examined, so that all of them start g or none
// does.
func (g *Grant) try(mayStart bool) (v readiness) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()

	if g.state == unqueued {
		var isQueued bool
		v, isQueued = l.join(g, mayStart, now)
		if !isQueued {
			return v
		}
	}
	laneCheckIn := l.tendLane(g, now)
	if g.state == rejectedInQueue {
		// join, tendLane or, since the last call, another goroutine has retimed
		// the lane and removed g: see visit in wakeup.go.
		retryIn := g.request.Estimate.Sub(now)
		retryLater := g.leaveNext()
		l.checkIdle(g.host, now) // g may have been the last that needed the host
		return readiness{rejected: true, retryIn: max(retryIn, retryLater), why: g.rejectedFor}
	}
	if g.host.IsFirst(&g.request) {
		v = l.firstReadiness(g, now)
		switch {
		case g.next == nil:
		case v.ready:
			v = g.tryNext(mayStart)
		default:
			g.leaveNext() // otherwise g would delay requests to other hosts in those queues
			v.estimate = max(v.estimate, now.Add(g.next.untilStart()))
		}
	} else {
		// g is not, or no longer, the first of its lane: a robots.txt request
		// may have been moved before it.
		g.leaveNext()
		v = readiness{checkIn: schedule.Unlimited, estimate: g.request.Estimate, why: schedule.ReasonQueue}
	}
	if v.ready {
		if mayStart {
			v.inForce = l.startFirst(g, now)
		}
		return v
	}
	if g.isBeyondMaxWait(now) && !v.rejected {
		v.rejected = true
		v.retryIn = l.retryIn(g, now)
	}
	if v.rejected {
		retryLater := g.leaveNext()
		v.retryIn = max(v.retryIn, retryLater)
		g.host.ExpectRetry(now, now.Add(v.retryIn))
		l.giveUp(g, now)
		return v
	}
	v.checkIn = min(v.checkIn, laneCheckIn)
	if g.hasMaxWait {
		v.checkIn = min(v.checkIn, g.request.Deadline.Sub(now))
	}
	if g.wake == nil {
		g.wake = make(chan struct{}, 1)
	}
	return v
}

// join puts g at the end of its host's queue. isQueued is false if g is in no
// queue: it is rejected, or ready at once, because no request is before it and
// nothing makes it wait. If it is ready and mayStart is true, it has started.
func (l *Limiter) join(g *Grant, mayStart bool, now schedule.Time) (v readiness, isQueued bool) {
	if why, untilRenewal := l.budgetRejection(g); why != schedule.ReasonNone {
		return readiness{rejected: true, retryIn: untilRenewal, why: why}, false
	}
	h := l.obtainHost(g, now)
	if l.Fleet != nil {
		l.requestHost(h, now)
	}
	l.learnCrawlDelay(h, g, now)
	if l.mayStartAtOnce(h, g, now) {
		if mayStart {
			l.hosts.MarkBusy(h)
			g.host = h
			v.inForce = l.start(g, now)
		}
		v.ready = true
		v.estimate = now
		return v, false
	}
	notBefore := schedule.Anytime
	if g.next != nil {
		notBefore = now.Add(g.next.untilStart())
	}
	f := h.ForecastAtEnd(now, &g.request, notBefore)
	if f.Rejected {
		v.rejected = true
		v.retryIn = f.Estimate.Sub(now)
		v.why = f.Why
		if f.Why == schedule.ReasonWithin {
			v.why = g.next.limiter.reasonAsLaterStage()
		}
		h.ExpectRetry(now, f.Estimate)
		l.checkIdle(h, now)
		return v, false
	}
	l.hosts.MarkBusy(h)
	g.host = h
	g.state = queued
	g.request.Owner = g
	g.request.Estimate = f.Estimate
	h.Enqueue(now, &g.request, &l.spare)
	l.stats.Waiting++
	if g.request.Overtakes {
		l.retime(h, now) // the other requests may have to wait longer
	} else if h.IsFirst(&g.request) {
		signalFirst(h) // the robots.txt request for g's origin may be the next to start now
	}
	return v, true
}

// mayStartAtOnce reports whether g, which is in no queue, may start now. With a
// next stage, g must have a place in the queue first, because it may have to
// wait at that stage. A token of GlobalRate is reserved only for a request in
// the queue.
func (l *Limiter) mayStartAtOnce(h *schedule.Host, g *Grant, now schedule.Time) bool {
	mustQueue := g.next != nil || l.isGlobalStage() || h.Waiting() > 0
	if mustQueue {
		return false
	}
	_, why := h.Ready(now, &g.request)
	return why == schedule.ReasonNone && l.fleetAllows() && l.affords(g)
}

// tendLane does what the first request of a lane does for all others, if g is
// the first. It frees the slots of expired leases, if no slot is free for g or,
// at the stage of a GlobalRate with its unlimited slots, in any case. It also
// continues a retiming. Both may reject g. The result is how long g may wait
// before it calls tendLane again.
func (l *Limiter) tendLane(g *Grant, now schedule.Time) (checkIn time.Duration) {
	if g.state != queued || !g.host.IsFirst(&g.request) {
		return schedule.Unlimited
	}
	needsSlot := !g.host.HasSlot(&g.request)
	isStale := l.isGlobalStage() && g.host.HasExpiredLease(now)
	if needsSlot || isStale {
		l.expireLeases(now, g.host)
	}
	if g.state != queued {
		return schedule.Unlimited
	}
	return l.continueRetiming(g, now)
}

// tryNext tries the stage after g, because g is ready. If the result is ready
// and mayStart is true, the later stages have started g, so the caller must
// start it too.
func (g *Grant) tryNext(mayStart bool) readiness {
	next := g.next.try(mayStart)
	if !next.ready {
		next.why = g.whyNext(next.why)
	}
	// Each Limiter counts time from its own epoch.
	next.estimate = next.estimate.Add(g.next.limiter.epoch.Sub(g.limiter.epoch))
	return next
}

// whyNext returns why g has to wait if the next stage gives the reason why.
func (g *Grant) whyNext(why schedule.Reason) schedule.Reason {
	isOfLaterStage := why == schedule.ReasonGlobalRate || why == schedule.ReasonWithin
	if g.next == nil || isOfLaterStage {
		return why
	}
	return g.next.limiter.reasonAsLaterStage()
}

// reasonAsLaterStage returns the reason that a request of the first stage of a
// chain reports while it waits at l, a later stage.
func (l *Limiter) reasonAsLaterStage() schedule.Reason {
	if l.isGlobalStage() {
		return schedule.ReasonGlobalRate
	}
	return schedule.ReasonWithin
}

// startFirst starts g, which is the first of its lane.
func (l *Limiter) startFirst(g *Grant, now schedule.Time) inForce {
	if l.isGlobalStage() {
		l.tokens.spend() // so that dequeue does not give the token back
	}
	l.dequeue(g)
	return l.start(g, now)
}

// isBeyondMaxWait reports whether the deadline of g is over and was set because
// of a MaxWait: see setDeadline. It is always false for a later stage, because
// the first one checks for all of them.
func (g *Grant) isBeyondMaxWait(now schedule.Time) bool {
	return g.hasMaxWait && now >= g.request.Deadline
}

// giveUp removes g from its host's queue. If no other request needs the host,
// the host becomes idle.
func (l *Limiter) giveUp(g *Grant, now schedule.Time) {
	l.dequeue(g)
	l.checkIdle(g.host, now)
}

// leave removes g from the queues of all stages from g on, and returns how long
// g would have to wait. If expectRetry is true, the request is expected to be
// retried after this wait, and a fleet keeps the host for a while.
func (g *Grant) leave(expectRetry bool) (retryIn time.Duration) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	switch g.state {
	case queued:
		retryIn = l.retryIn(g, now)
		if expectRetry {
			g.host.ExpectRetry(now, now.Add(retryIn))
		}
		l.giveUp(g, now)
	case rejectedInQueue:
		retryIn = g.request.Estimate.Sub(now)
		g.state = unqueued
		l.checkIdle(g.host, now)
	}
	retryLater := g.leaveNext()
	return max(retryIn, retryLater)
}

// leaveNext removes g from the queues of all stages after g. The result is as
// for leave.
func (g *Grant) leaveNext() (retryIn time.Duration) {
	if g.next == nil {
		return 0
	}
	return g.next.leave(false)
}

// untilStart returns how long g would have to wait if it joined the queues of
// all stages from g on now.
func (g *Grant) untilStart() time.Duration {
	wait, _ := g.forecast()
	return wait
}

// forecast returns how long g would have to wait if it joined the queues of all
// stages from g on now. If g would be rejected, why is what it would have to
// wait for.
func (g *Grant) forecast() (wait time.Duration, why schedule.Reason) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if h := l.hosts.Get(g.key); h != nil {
		f := h.ForecastAtEnd(now, &g.request, schedule.Anytime)
		wait = max(f.Estimate.Sub(now), 0)
		why = f.Why
	}
	if g.next != nil {
		untilNext, whyLater := g.next.forecast()
		if untilNext > wait {
			return untilNext, g.whyNext(whyLater)
		}
	}
	return wait, why
}
