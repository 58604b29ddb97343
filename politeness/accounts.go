package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// budgetSpent reports whether the Budget of g's host is spent, and for how much
// longer. It returns false if g is Exempt.
func (l *Limiter) budgetSpent(g *Grant) (wait time.Duration, yes bool) {
	if !l.accounts.HasLimit() || g.request.Exempt {
		return 0, false
	}
	verdict, day := l.accounts.Check(utcDay(), g.key)
	if verdict != schedule.BudgetSpent {
		return 0, false
	}
	return untilEnd(day), true
}

// afford reports, as ok, whether the Budget lets g start. If ok is false, v
// contains whether g waits for a reservation or is refused, and for how long.
func (l *Limiter) afford(g *Grant, now schedule.Time) (v readiness, ok bool) {
	if !l.accounts.HasLimit() {
		return readiness{}, true
	}
	switch verdict, day := l.accounts.Check(utcDay(), g.key); verdict {
	case schedule.BudgetSpent:
		return readiness{refused: true, wait: untilEnd(day), why: schedule.ReasonBudget}, g.request.Exempt
	case schedule.BudgetUncounted:
		return readiness{refused: true, wait: untilEnd(day), why: schedule.ReasonMaxHosts}, g.request.Exempt
	case schedule.BudgetUnreserved:
		l.reserve(g.host)
		return readiness{wait: schedule.Unlimited, until: max(g.request.Estimate, now), why: schedule.ReasonFleet}, false
	}
	return readiness{}, true
}

// affords reports whether g may start without a further reservation.
func (l *Limiter) affords(g *Grant) bool {
	if !l.accounts.HasLimit() {
		return true
	}
	verdict, _ := l.accounts.Check(utcDay(), g.key)
	return verdict == schedule.BudgetLeft
}

// reserve begins to reserve more of the Budget for h in the fleet. It does
// nothing if a reservation is under way, or if this Limiter does not own h.
func (l *Limiter) reserve(h *schedule.Host) {
	if h.IsOwned() && l.accounts.Reserve(utcDay(), h.Key) {
		l.Fleet.Look(holder(h))
	}
}

// spend counts requests and bytes as used in the account of g's host. Call it
// only if the Limiter has a Budget.
func (l *Limiter) spend(g *Grant, used schedule.Amount) {
	if l.accounts.Spend(utcDay(), g.key, used) {
		l.reserve(g.host)
	}
}
