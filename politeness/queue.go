package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// try looks whether all Limiters of the chain are ready. If they are, and start
// is true, g starts. If a Limiter is not ready, g stays in the queue of the
// first such Limiter, and in those of the Limiters before it. g leaves the
// queues of all Limiters after it. Limiters are locked in the order of the
// chain, and each stays locked while the next is examined, so that all of them
// start g or none does.
func (g *Grant) try(start bool) (v readiness) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()

	retimeIn := schedule.Unlimited
	if g.state == queued && g.host.IsFirst(&g.request) {
		retimeIn = l.continueRetiming(g, now)
	}
	switch g.state {
	case refused:
		g.leaveNext()
		l.markIdle(g.host) // g may have been the last that needed the host
		return readiness{refused: true, wait: g.request.Estimate.Sub(now), why: g.host.WhyReady(&g.request)}
	case unqueued:
		var in bool
		if v, in = l.join(g, start, now); !in {
			return v
		}
	}
	if g.host.IsFirst(&g.request) {
		v = l.firstReadiness(g, now)
		if g.next != nil {
			v = g.tryNext(v, start, now)
		}
	} else {
		g.leaveNext() // a robots.txt request has gone to the front of the line
		v = readiness{wait: schedule.Unlimited, until: g.request.Estimate, why: schedule.ReasonQueue}
	}
	switch {
	case v.ready:
		if start {
			l.token = nil // it is spent, so dequeue must not give it back
			l.dequeue(g)
			v.inForce = l.start(g, now)
		}
		return v
	case !v.refused && g.timed && now >= g.request.Deadline:
		v.refused, v.wait = true, l.retryIn(g, now)
		g.host.ExpectRetry(now, now.Add(v.wait))
	}
	if v.refused {
		g.leaveNext()
		l.giveUp(g)
		return v
	}
	v.wait = min(v.wait, retimeIn)
	if g.timed {
		v.wait = min(v.wait, g.request.Deadline.Sub(now))
	}
	if g.wake == nil {
		g.wake = make(chan struct{}, 1)
	}
	return v
}

// tryNext is called with what try has found at one Limiter. If g may start
// there, tryNext tries to start g at the next Limiter. If not, g leaves the
// queues of all later Limiters. v.until also counts the wait that g can
// expect in those queues.
func (g *Grant) tryNext(v readiness, start bool, now schedule.Time) readiness {
	if !v.ready {
		g.leaveNext() // g's turn in those queues must not hold up requests to other hosts
		v.until = max(v.until, now.Add(g.next.estimate()))
		return v
	}
	inner := g.next.try(start)
	if !inner.ready {
		inner.why = g.whyNext(inner.why)
	}
	// Each limiter counts time from its own epoch.
	inner.until = inner.until.Add(g.next.limiter.epoch.Sub(g.limiter.epoch))
	return inner
}

// join puts g at the end of its host's queue. It returns false if g is in no
// queue, because g was refused or is ready at once. g is ready at once if no
// request is before it and nothing makes it wait. It then starts if start is
// true.
func (l *Limiter) join(g *Grant, start bool, now schedule.Time) (v readiness, in bool) {
	if wait, yes := l.budgetSpent(g); yes {
		return readiness{refused: true, wait: wait, why: schedule.ReasonBudget}, false
	}
	h := l.obtainHost(g, now)
	if l.Fleet != nil {
		l.requestHost(h, now)
	}
	if g.request.CrawlDelay > 0 || h.Learned != nil { // otherwise neither g nor the host has a Crawl-delay
		l.learnCrawlDelay(h, g, now)
	}
	if h.Waiting() == 0 && g.next == nil && l.tokens == nil && h.HasSlot(&g.request) && h.Due(&g.request) <= now && (l.Fleet == nil || l.owns(h, now)) && l.affords(g) {
		if start {
			l.hosts.MarkBusy(h)
			g.host = h
			v.inForce = l.start(g, now)
		}
		v.ready, v.until = true, now
		return v, false
	}
	est := h.EstimateAtEnd(now, &g.request)
	if g.next != nil {
		est = max(est, now.Add(g.next.estimate()))
	}
	if h.RejectsAtEnd(now, &g.request, est) {
		v.refused, v.wait, v.why = true, est.Sub(now), l.whyRefused(h, g, est)
		h.ExpectRetry(now, est)
		l.markIdle(h)
		return v, false
	}
	l.hosts.MarkBusy(h)
	g.host = h
	g.state = queued
	g.request.Owner = g
	g.request.Estimate = est
	h.Enqueue(now, &g.request, &l.spare)
	l.stats.Waiting++
	if g.request.Overtakes {
		l.retime(h, now) // the pages may have to wait longer
	} else if h.IsFirst(&g.request) {
		signalFirst(h) // the robots.txt of this page may go before others now
	}
	return v, true
}

// whyRefused returns what g would have to wait for. It is called if g is
// refused before it joins the queue.
func (l *Limiter) whyRefused(h *schedule.Host, g *Grant, est schedule.Time) schedule.Reason {
	switch {
	case h.UnownedUntil() > h.Due(&g.request):
		return schedule.ReasonFleet
	case h.CrawlDelay(&g.request) > h.Settings.MaxCrawlDelay:
		return schedule.ReasonCrawlDelay
	case h.IsBehind(&g.request):
		return schedule.ReasonQueue
	case h.Due(&g.request) >= est:
		return h.WhyReady(&g.request)
	}
	return g.whyNext(schedule.ReasonQueue)
}

// whyNext returns why g has to wait. inner is the reason that the next Limiter
// gives.
func (g *Grant) whyNext(inner schedule.Reason) schedule.Reason {
	switch {
	case g.next == nil, inner == schedule.ReasonGlobalRate, inner == schedule.ReasonWithin:
		return inner
	case g.next.limiter == g.limiter.global:
		return schedule.ReasonGlobalRate
	}
	return schedule.ReasonWithin
}

// giveUp removes g from its host's queue. If no other request needs the host,
// the host becomes idle.
func (l *Limiter) giveUp(g *Grant) {
	l.dequeue(g)
	l.markIdle(g.host)
}

// leave removes g from all queues and returns how long g would have to wait.
// If expectRetry is true, the request is expected to be retried after this
// wait, and a fleet keeps the host for a while.
func (g *Grant) leave(expectRetry bool) (wait time.Duration) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	switch g.state {
	case queued:
		now := l.now()
		wait = l.retryIn(g, now)
		if expectRetry {
			g.host.ExpectRetry(now, now.Add(wait))
		}
		l.giveUp(g)
	case refused:
		wait = g.request.Estimate.Sub(l.now())
		g.state = unqueued
		l.markIdle(g.host)
	}
	return max(wait, g.leaveNext())
}

func (g *Grant) leaveNext() (wait time.Duration) {
	if g.next == nil {
		return 0
	}
	return g.next.leave(false)
}

// estimate returns how long g would have to wait if it joined the queues now.
func (g *Grant) estimate() time.Duration {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	var wait time.Duration
	if h := l.hosts.Get(g.key); h != nil {
		wait = h.EstimateAtEnd(now, &g.request).Sub(now)
	}
	if spent, yes := l.budgetSpent(g); yes {
		wait = max(wait, spent)
	}
	if g.next != nil {
		wait = max(wait, g.next.estimate())
	}
	return max(wait, 0)
}

// firstReadiness checks whether g, the first in its queue, may start.
func (l *Limiter) firstReadiness(g *Grant, now schedule.Time) readiness {
	h := g.host
	if !h.HasSlot(&g.request) {
		l.expireLeases(now, h) // with EndToStart, an interval begins when a lease ends
	}
	ready := h.ReadyAt(&g.request)
	g.request.Estimate = max(ready, now)
	if h.Claim != nil && h.Claim.Denied {
		return l.waitForOwner(g, now)
	}
	if ready > now {
		if ready > h.Due(&g.request) { // the pages that go first may be over sooner
			g.request.Estimate = h.EstimateFirst(now, &g.request)
		}
		return l.waitFor(g, ready.Sub(now), h.WhyReady(&g.request), now)
	}
	if h.Next(now) != &g.request {
		// The other line has the turn. g is woken when the request that has the
		// turn starts or leaves.
		g.request.Estimate = h.EstimateFirst(now, &g.request)
		return l.waitFor(g, schedule.Unlimited, schedule.ReasonQueue, now)
	}
	if !h.HasSlot(&g.request) {
		return l.waitForSlot(g, now)
	}
	if l.Fleet != nil && !l.owns(h, now) {
		return l.waitForOwner(g, now)
	}
	if v, ok := l.afford(g, now); !ok {
		return v
	}
	if l.tokens != nil {
		if wait := l.takeToken(g); wait > 0 {
			g.request.Estimate = now.Add(wait)
			return readiness{wait: wait, until: g.request.Estimate, why: schedule.ReasonGlobalRate}
		}
	}
	return readiness{ready: true, until: now}
}

// waitFor returns the readiness of g, the first of its line, which waits for
// why. If g's estimate is too late, g is refused.
func (l *Limiter) waitFor(g *Grant, wait time.Duration, why schedule.Reason, now schedule.Time) readiness {
	estimate := g.request.Estimate
	v := readiness{wait: wait, until: estimate, why: why}
	if g.host.RejectsFirst(now, &g.request, estimate) {
		v.refused = true
		v.wait = estimate.Sub(now)
		g.host.ExpectRetry(now, estimate)
	}
	return v
}

// takeToken reserves g's token of GlobalRate, and returns how long g must wait
// until the token is valid. Only the first request in a queue holds a
// reservation, because rate.Limiter cannot move reservations up. If that
// request leaves, its reservation is given back.
func (l *Limiter) takeToken(g *Grant) time.Duration {
	now := time.Now()
	if l.token == nil {
		r := l.tokens.ReserveN(now, 1)
		if !r.OK() {
			return time.Second // the burst has been set to 0
		}
		valid := now.Add(r.DelayFrom(now)).Sub(l.epoch)
		l.token = &token{Reservation: r, holder: &g.request, valid: schedule.Time(valid)}
	}
	return l.token.DelayFrom(now)
}

// retryIn returns how long a refused request should wait before it is retried.
func (l *Limiter) retryIn(g *Grant, now schedule.Time) time.Duration {
	h := g.host
	wait := max(h.ReadyAt(&g.request), g.request.Estimate).Sub(now)
	if wait <= 0 {
		// A slot or the like is missing, for an unknown time.
		wait = max(h.Delay(), 10*time.Millisecond)
	}
	return wait
}

// openBodyWarning is how long a request waits for the slot of an open response
// body before the log names the body.
const openBodyWarning = 5 * time.Second

// waitForSlot is called for g if g lacks only a slot. The result contains the
// time at which g should be tried again: when the first lease ends, or when g
// has waited for an open body for openBodyWarning. Any other change wakes g.
func (l *Limiter) waitForSlot(g *Grant, now schedule.Time) readiness {
	h := g.host
	v := readiness{wait: schedule.Unlimited, until: g.request.Estimate, why: schedule.ReasonSlot}
	oldest := h.OldestInFlight()
	if oldest == nil {
		return v
	}
	v.wait = h.FirstLeaseEnd().Sub(now)
	by := owner(oldest)
	if by.bodySince == 0 || h.OnItsWay > 0 {
		return v
	}
	warnAt := max(g.request.PhaseStart, h.Due(&g.request), by.bodySince).Add(openBodyWarning)
	if now < warnAt {
		v.wait = min(v.wait, warnAt.Sub(now))
		return v
	}
	v.notice = &notice{openBody: by.request.URL, openFor: now.Sub(by.bodySince)}
	by.bodySince = 0 // the log names it only once
	return v
}
