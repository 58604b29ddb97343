package politeness

import (
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// accountOf returns the present account of a host, or nil if there is none.
// When the day changes, accountOf forgets the accounts of past days and of days
// after tomorrow. An account that is so far ahead comes from a wrong clock. If
// it were kept and its Budget was spent, its host would be refused until the
// end of that day. The accounts of tomorrow are kept, because the clock of
// another process may be ahead.
func (l *Limiter) accountOf(key string) *account {
	if today := utcDay(time.Now()); today > l.day || today < l.day-1 {
		l.day = today
		for key, a := range l.accounts {
			if a.day < today || a.day > today+1 {
				delete(l.accounts, key)
			}
		}
	}
	return l.accounts[key]
}

// openAccount returns the account of a host and opens one if there is none.
func (l *Limiter) openAccount(key string) *account {
	a := l.accountOf(key)
	if a == nil {
		a = &account{day: l.day}
		if l.Fleet == nil { // no other process shares the Budget
			a.taken = amount{l.Budget.Requests, l.Budget.Bytes}
			a.left = a.taken
		}
		l.accounts[strings.Clone(key)] = a
	}
	return a
}

// budgetSpent reports whether the Budget of g's host is spent, and for how much
// longer. It returns false if g is Exempt.
func (l *Limiter) budgetSpent(g *Grant) (wait time.Duration, yes bool) {
	if !l.Budget.limits() || g.request.Exempt {
		return 0, false
	}
	if a := l.accountOf(g.key); a != nil && l.Budget.isSpent(a) {
		return a.untilEnd(), true
	}
	return 0, false
}

// afford reports, as ok, whether the Budget lets g start. If ok is false, v
// says whether g waits for a reservation or is refused, and for how long.
func (l *Limiter) afford(g *Grant, h *host, now schedule.Time) (v readiness, ok bool) {
	if !l.Budget.limits() {
		return readiness{}, true
	}
	a := l.accountOf(g.key)
	if a == nil && len(l.accounts) >= l.set.maxHosts {
		a = &account{day: l.day}
		return readiness{refused: true, wait: a.untilEnd(), why: schedule.ReasonMaxHosts}, g.request.Exempt
	}
	a = l.openAccount(g.key)
	if l.Budget.lacks(a.left) && !l.Budget.isSpent(a) {
		l.reserve(a, h)
	}
	switch {
	case !l.Budget.lacks(a.left):
		return readiness{}, true
	case l.Budget.isSpent(a):
		return readiness{refused: true, wait: a.untilEnd(), why: schedule.ReasonBudget}, g.request.Exempt
	}
	return readiness{wait: unlimited, until: max(g.request.Estimate, now), why: schedule.ReasonFleet}, false
}

// affords reports whether g may start without a further reservation.
func (l *Limiter) affords(g *Grant) bool {
	if !l.Budget.limits() {
		return true
	}
	a := l.accountOf(g.key)
	return a != nil && !l.Budget.lacks(a.left)
}

// reserve begins to reserve more of the Budget for h in the fleet. It does
// nothing if a reservation is under way, or if this Limiter does not own h.
func (l *Limiter) reserve(a *account, h *host) {
	isOwned := h.ownership != nil && h.ownership.owned
	if isOwned && a.claim == (amount{}) {
		a.claim = l.Budget.next(a)
		l.Fleet.Look(h.ownership.hold)
	}
}

// spend counts requests and bytes as used in the account of g's host. Call it
// only if the Limiter has a Budget.
func (l *Limiter) spend(g *Grant, used amount) {
	if l.accountOf(g.key) == nil && len(l.accounts) >= l.set.maxHosts {
		return // no room for an account: g is Exempt, or the day has changed
	}
	a := l.openAccount(g.key)
	a.left.requests -= used.requests
	a.left.bytes -= used.bytes
	if l.Budget.Bytes > 0 && a.left.bytes < 0 && !l.Budget.isSpent(a) {
		l.reserve(a, g.host) // at once, in case this process ends
	}
}
