package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// budgetRejection returns why the Budget rejects g, and for how much longer it
// does. The reason is ReasonNone if the Budget does not reject g. An Exempt
// request is counted, but never rejected.
func (l *Limiter) budgetRejection(g *Grant) (why schedule.Reason, untilRenewal time.Duration) {
	if !l.budgets.HasLimit() {
		return schedule.ReasonNone, 0
	}
	verdict, day := l.budgets.Check(utcDay(), g.key)
	why = g.reasonOf(verdict)
	if why == schedule.ReasonNone {
		return schedule.ReasonNone, 0
	}
	return why, untilEnd(day)
}

// reasonOf returns why g is rejected if the Budget of its host has the given
// verdict, or ReasonNone if it is not.
func (g *Grant) reasonOf(verdict schedule.BudgetVerdict) schedule.Reason {
	switch {
	case g.request.Exempt:
		return schedule.ReasonNone
	case verdict == schedule.BudgetSpent:
		return schedule.ReasonBudget
	case verdict == schedule.BudgetUncounted:
		return schedule.ReasonMaxHosts
	}
	return schedule.ReasonNone
}

// checkBudget is like budgetRejection, but locks l.
func (l *Limiter) checkBudget(g *Grant) (why schedule.Reason, untilRenewal time.Duration) {
	if !l.budgets.HasLimit() {
		return schedule.ReasonNone, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budgetRejection(g)
}

// affords reports whether g may start without a further reservation. If the
// result is false, budgetReadiness has the reason. It is also false for an
// Exempt request whose Budget is spent or not counted, which budgetReadiness
// lets start.
func (l *Limiter) affords(g *Grant) bool {
	if !l.budgets.HasLimit() {
		return true
	}
	verdict, _ := l.budgets.Check(utcDay(), g.key)
	return verdict == schedule.BudgetLeft
}

// reserve begins to reserve more of the Budget for h in the fleet. It does
// nothing if a reservation is under way, or if this Limiter does not own h.
func (l *Limiter) reserve(h *schedule.Host) {
	if h.IsOwned() && l.budgets.Reserve(utcDay(), h.Key) {
		l.Fleet.Look(claim(h))
	}
}

// spend counts requests and bytes as used of the Budget of g's host. It must be
// called only if the Limiter has a Budget.
func (l *Limiter) spend(g *Grant, used schedule.Amount) {
	if l.budgets.Spend(utcDay(), g.key, used) {
		l.reserve(g.host)
	}
}

// spendBytes counts n bytes that were read from the body of g's response.
func (g *Grant) spendBytes(n int) {
	if l := g.limiter; n > 0 && l.Budget.Bytes > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.spend(g, schedule.Amount{Bytes: int64(n)})
	}
}
