package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A readiness is what a request learns when it checks whether it may start: it
// is ready, or rejected, or must wait. The struct is small because it is on the
// stack of each request that waits.
type readiness struct {
	ready    bool            // the request may start, or has started
	rejected bool            // the request is to fail with a DelayError
	why      schedule.Reason // what the request has to wait for
	notice   *notice         // to be reported when no lock is held any more
	checkIn  time.Duration   // of a request that waits: when to check again, unless it is woken before; Unlimited means only then
	retryIn  time.Duration   // of a rejected request: when it may be retried
	estimate schedule.Time   // the estimated start
	inForce  inForce         // set when the request has started, only if there is an Observer
}

// isFinal reports whether the request need not check again.
func (v *readiness) isFinal() bool { return v.ready || v.rejected }

// firstReadiness checks whether g, the first in its lane, may start, as far as
// l decides.
func (l *Limiter) firstReadiness(g *Grant, now schedule.Time) readiness {
	h := g.host
	if !h.HasSlot(&g.request) {
		l.expireLeases(now, h) // before ReadyAt: with EndToStart, an interval begins when a lease ends
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
		// The other lane has the turn. g is woken when the request that has the
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
	if v, ok := l.budgetReadiness(g, now); !ok {
		return v
	}
	if l.tokens != nil {
		if wait := l.tokens.take(&g.request); wait > 0 {
			g.request.Estimate = now.Add(wait)
			return readiness{checkIn: wait, estimate: g.request.Estimate, why: schedule.ReasonGlobalRate}
		}
	}
	return readiness{ready: true, estimate: now}
}

// waitFor returns the readiness of g, the first of its lane, which waits for
// why. If g's estimate is too late, g is rejected.
func (l *Limiter) waitFor(g *Grant, checkIn time.Duration, why schedule.Reason, now schedule.Time) readiness {
	estimate := g.request.Estimate
	if g.host.RejectsFirst(now, &g.request, estimate) {
		g.host.ExpectRetry(now, estimate)
		return readiness{rejected: true, retryIn: estimate.Sub(now), estimate: estimate, why: why}
	}
	return readiness{checkIn: checkIn, estimate: estimate, why: why}
}

// openBodyWarning is how long a request waits for the slot of an open response
// body before the log names the body.
const openBodyWarning = 5 * time.Second

// waitForSlot is called for g if g lacks only a slot. g checks again when the
// first lease ends, or when g has waited for an open body for openBodyWarning.
// Any other change wakes g.
func (l *Limiter) waitForSlot(g *Grant, now schedule.Time) readiness {
	h := g.host
	v := readiness{checkIn: schedule.Unlimited, estimate: g.request.Estimate, why: schedule.ReasonSlot}
	oldest := h.OldestInFlight()
	if oldest == nil { // requests of other members of a fleet have the slots
		return v
	}
	v.checkIn = h.FirstLeaseEnd().Sub(now)
	by := owner(oldest)
	if by.bodySince == 0 || h.OnItsWay > 0 {
		return v
	}
	warnAt := max(g.request.PhaseStart, h.Due(&g.request), by.bodySince).Add(openBodyWarning)
	if now < warnAt {
		v.checkIn = min(v.checkIn, warnAt.Sub(now))
		return v
	}
	v.notice = &notice{openBody: by.request.URL, openFor: now.Sub(by.bodySince)}
	by.bodySince = 0 // the log names it only once
	return v
}

// waitForOwner returns the readiness of g while the Fleet does not let this
// Limiter send requests to g's host.
func (l *Limiter) waitForOwner(g *Grant, now schedule.Time) readiness {
	v := readiness{checkIn: schedule.Unlimited, estimate: max(g.request.Estimate, now), why: schedule.ReasonFleet}
	c := g.host.Claim
	if c.Owned || c.Earliest <= now { // nothing is known about when the Fleet lets g start
		return v
	}
	v.estimate = max(v.estimate, c.Earliest)
	v.checkIn = c.Earliest.Sub(now)
	if c.Denied || v.estimate >= g.request.Deadline {
		v.rejected = true
		v.retryIn = v.estimate.Sub(now)
		g.host.ExpectRetry(now, v.estimate)
	}
	return v
}

// budgetReadiness reports, as ok, whether the Budget lets g start. If ok is
// false, v contains whether g waits for a reservation or is rejected.
func (l *Limiter) budgetReadiness(g *Grant, now schedule.Time) (v readiness, ok bool) {
	if !l.budgets.HasLimit() {
		return readiness{}, true
	}
	switch verdict, day := l.budgets.Check(utcDay(), g.key); verdict {
	case schedule.BudgetSpent:
		return readiness{rejected: true, retryIn: untilEnd(day), why: schedule.ReasonBudget}, g.request.Exempt
	case schedule.BudgetUncounted:
		return readiness{rejected: true, retryIn: untilEnd(day), why: schedule.ReasonMaxHosts}, g.request.Exempt
	case schedule.BudgetUnreserved:
		l.reserve(g.host)
		return readiness{checkIn: schedule.Unlimited, estimate: max(g.request.Estimate, now), why: schedule.ReasonFleet}, false
	}
	return readiness{}, true
}

// retryIn returns how long a rejected request, which is queued, should wait
// before it is retried.
func (l *Limiter) retryIn(g *Grant, now schedule.Time) time.Duration {
	h := g.host
	wait := max(h.ReadyAt(&g.request), g.request.Estimate).Sub(now)
	if wait <= 0 {
		// The request waits for a slot or the like, for an unknown time.
		wait = max(h.Delay(), 10*time.Millisecond)
	}
	return wait
}
