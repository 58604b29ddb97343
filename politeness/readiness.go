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
	checkIn  time.Duration   // if it waits: when to check again, unless it is woken before
	retryIn  time.Duration   // if it is rejected: when it may be retried
	estimate schedule.Time   // the estimated start
	inForce  inForce         // set when the request has started, if there is an Observer
}

// isFinal reports whether the request need not check again.
func (v *readiness) isFinal() bool { return v.ready || v.rejected }

// firstReadiness checks whether g, the first of its lane, may start, as far as
// l decides. schedule.Host.Ready has the conditions of g's host. After these,
// the Fleet and the Budget must allow the start. At the stage of a GlobalRate,
// g needs a token.
func (l *Limiter) firstReadiness(g *Grant, now schedule.Time) readiness {
	h := g.host
	at, why := h.Ready(now, &g.request)
	if why == schedule.ReasonNone && !l.fleetAllows() {
		at = schedule.Forever
		why = schedule.ReasonFleet
	}
	if why != schedule.ReasonNone {
		return l.waitFor(g, at, why, now)
	}
	g.request.Estimate = now
	if v, ok := l.budgetReadiness(g, now); !ok {
		return v
	}
	if l.isGlobalStage() {
		if wait := l.tokens.take(&g.request); wait > 0 {
			start := now.Add(wait)
			g.request.Estimate = start
			if start >= g.request.Deadline {
				return readiness{rejected: true, retryIn: wait, estimate: start, why: schedule.ReasonGlobalRate}
			}
			return readiness{checkIn: wait, estimate: start, why: schedule.ReasonGlobalRate}
		}
	}
	return readiness{ready: true, estimate: now}
}

// waitFor returns the readiness of g, the first of its lane, which waits for
// why until the time at, or for an event if at is Forever. If g's estimate is
// too late, g is rejected.
func (l *Limiter) waitFor(g *Grant, at schedule.Time, why schedule.Reason, now schedule.Time) readiness {
	f := g.host.ForecastFirst(now, &g.request)
	g.request.Estimate = f.Estimate
	if f.Rejected {
		return readiness{rejected: true, retryIn: f.Estimate.Sub(now), estimate: f.Estimate, why: f.Why}
	}
	if why == schedule.ReasonSlot {
		return l.waitForSlot(g, now)
	}
	checkIn := schedule.Unlimited
	if at != schedule.Forever {
		checkIn = at.Sub(now)
	}
	return readiness{checkIn: checkIn, estimate: f.Estimate, why: why}
}

// openBodyWarning is how long a request waits for the slot of an open response
// body before the log names the body.
const openBodyWarning = 5 * time.Second

// waitForSlot is called for g if g waits only because no slot is free or
// another request is on its way: see Host.HasSlot. g checks again when the
// first lease ends, and when it has waited for an open body for
// openBodyWarning. Any change that frees a slot wakes g.
func (l *Limiter) waitForSlot(g *Grant, now schedule.Time) readiness {
	h := g.host
	v := readiness{checkIn: schedule.Unlimited, estimate: g.request.Estimate, why: schedule.ReasonSlot}
	if h.InFlight == 0 { // requests of other members of a fleet have the slots
		return v
	}
	v.checkIn = h.FirstLeaseEnd().Sub(now)
	body := unreportedBody(h)
	if body == nil {
		return v
	}
	since := schedule.Time(body.since.Sub(l.epoch))
	warnAt := max(g.request.PhaseStart, h.Due(&g.request), since).Add(openBodyWarning)
	if now < warnAt {
		v.checkIn = min(v.checkIn, warnAt.Sub(now))
		return v
	}
	if h.OnItsWay > 0 { // the body may not be the cause
		v.checkIn = min(v.checkIn, openBodyWarning)
		return v
	}
	// A request at another Limiter of the chain may have reported the body
	// since.
	if body.reported.CompareAndSwap(false, true) {
		v.notice = &notice{openBody: body.url, openFor: now.Sub(since), key: g.key}
		v.checkIn = min(v.checkIn, openBodyWarning) // there may be another one
	}
	return v
}

// unreportedBody returns the body that has been open for longest, of those that
// hold a slot of h and that the log has not named, or nil if there is none.
func unreportedBody(h *schedule.Host) (oldest *openBody) {
	for r := range h.Holders() {
		body := owner(r).body
		if body == nil || body.reported.Load() {
			continue
		}
		if oldest == nil || body.since.Before(oldest.since) {
			oldest = body
		}
	}
	return oldest
}

// budgetReadiness reports, as ok, whether the Budget lets g, the first of its
// lane, start. If ok is false, v contains whether g waits for a reservation or
// is rejected.
func (l *Limiter) budgetReadiness(g *Grant, now schedule.Time) (v readiness, ok bool) {
	if !l.budgets.HasLimit() {
		return readiness{}, true
	}
	verdict, day := l.budgets.Check(utcDay(), g.key)
	if why := g.reasonOf(verdict); why != schedule.ReasonNone {
		return readiness{rejected: true, retryIn: untilEnd(day), why: why}, false
	}
	if verdict == schedule.BudgetUnreserved {
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
