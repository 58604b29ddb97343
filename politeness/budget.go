package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// budgetSpent reports whether the Budget of g's host is spent, and for how much
// longer. It returns false if g is Exempt.
func (l *Limiter) budgetSpent(g *Grant) (untilRenewal time.Duration, isSpent bool) {
	if !l.budgets.HasLimit() || g.request.Exempt {
		return 0, false
	}
	verdict, day := l.budgets.Check(utcDay(), g.key)
	if verdict != schedule.BudgetSpent {
		return 0, false
	}
	return untilEnd(day), true
}

// affords reports whether g may start without a further reservation. If the
// result is false, budgetReadiness has the reason.
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
