package schedule

import (
	"math"
	"strings"
)

// An Amount is a number of requests to a host and a number of bytes of the
// bodies of its responses.
type Amount struct{ Requests, Bytes int64 }

// Budgets count what is used of the budget of each host on one day. Days are in
// UTC, counted from 1970, by the wall clock. The counts of a day are kept for
// the whole day, also those of evicted hosts. Release has the only exception.
//
// The processes of a fleet share the budgets. A process reserves a part of a
// budget in the fleet, uses it up, and then reserves the next part.
type Budgets struct {
	Limit    Amount // for each host and day; 0 or negative means no limit
	IsShared bool   // other processes use the same budgets
	MaxHosts int    // beyond it, no budget is counted for a new host, except by Import

	today  int64
	byHost map[string]*hostBudget
}

// A hostBudget is what is known of one host's budget on one day.
type hostBudget struct {
	day       int64
	reserved  Amount // by all processes that share the budget
	left      Amount // what this process has reserved and not used; negative if it used more
	requested Amount // what this process is reserving in the fleet now; zero means nothing
}

// A BudgetVerdict is whether the budget of a host lets a request start.
type BudgetVerdict uint8

const (
	BudgetLeft       BudgetVerdict = iota // the request may start
	BudgetUnreserved                      // the request may start when this process has reserved a part of the budget
	BudgetSpent                           // no request may start on this day, except Exempt ones, as the caller decides
	BudgetUncounted                       // the same, because MaxHosts leaves no room to count the budget on this day
)

// HasLimit reports whether there are budgets at all.
func (b *Budgets) HasLimit() bool { return b.Limit.Requests > 0 || b.Limit.Bytes > 0 }

// Check reports whether the budget of the host lets a request start, and the
// day to which this applies. The day is not today if the clock of another
// process is ahead, or if this one was set back by a day.
func (b *Budgets) Check(today int64, host string) (v BudgetVerdict, day int64) {
	if !b.HasLimit() {
		return BudgetLeft, today
	}
	a := b.find(today, host)
	switch {
	case a == nil && b.isFull():
		return BudgetUncounted, b.today
	case a == nil && b.IsShared:
		return BudgetUnreserved, b.today
	case a == nil:
		return BudgetLeft, b.today
	case b.isSpent(a):
		return BudgetSpent, a.day
	case b.isUsedUp(a):
		return BudgetUnreserved, a.day
	}
	return BudgetLeft, a.day
}

// Spend counts requests and bytes of the host as used. mustReserve reports
// whether more bytes are used than this process has reserved. They should be
// reserved at once, in case the process ends. An Amount is not counted if
// MaxHosts leaves no room for the host.
func (b *Budgets) Spend(today int64, host string, used Amount) (mustReserve bool) {
	if b.find(today, host) == nil && b.isFull() {
		return false
	}
	a := b.open(today, host)
	a.left.Requests -= used.Requests
	a.left.Bytes -= used.Bytes
	return b.Limit.Bytes > 0 && a.left.Bytes < 0 && !b.isSpent(a)
}

// Reserve begins to reserve the next part of the host's budget in the fleet. It
// returns false if a reservation is under way. The part may be used after
// Confirm.
func (b *Budgets) Reserve(today int64, host string) bool {
	a := b.open(today, host)
	if a.requested != (Amount{}) {
		return false
	}
	a.requested = Amount{
		nextPart(b.Limit.Requests, a.reserved.Requests, a.left.Requests),
		nextPart(b.Limit.Bytes, a.reserved.Bytes, a.left.Bytes),
	}
	return true
}

// nextPart returns how much is reserved next: a 32nd of the limit, and what was
// used beyond the reservation. It is 0 if something is left.
func nextPart(limit, reserved, left int64) int64 {
	if limit <= 0 || left > 0 {
		return 0
	}
	overdrawn := -left
	part := min(max(limit/32, 1), max(limit-reserved-overdrawn, 0))
	return addCapped(part, overdrawn)
}

// IsReserving reports whether a reservation for the host is under way.
func (b *Budgets) IsReserving(today int64, host string) bool {
	a := b.find(today, host)
	return a != nil && a.requested != (Amount{})
}

// Confirm notes that the fleet has stored what is reserved for a host on a day.
// If that includes what this process has requested, its requests may use it.
func (b *Budgets) Confirm(today int64, host string, day int64, reserved Amount) {
	a := b.find(today, host)
	if a == nil {
		return
	}
	withRequested := a.reserved.plus(a.requested)
	if a.day != day || reserved != withRequested {
		return // another state: what this process has requested is not in it
	}
	a.reserved = withRequested
	a.left = a.left.plus(a.requested)
	a.requested = Amount{}
}

// Release ends what this process has reserved for a host, because another
// process may own the host now. If isReturned is true, the fleet knows what was
// used, and all processes may use the rest. Otherwise the rest is lost. If
// there are more budgets than MaxHosts, this one is no longer counted: the
// fleet has it, and Import takes it over if this process owns the host again.
func (b *Budgets) Release(today int64, host string, isReturned bool) {
	a := b.find(today, host)
	if a == nil {
		return
	}
	if len(b.byHost) > b.MaxHosts {
		delete(b.byHost, host)
		return
	}
	a.requested = Amount{}
	if isReturned {
		a.reserved = a.used()
		a.left = Amount{}
		return
	}
	a.left = Amount{min(a.left.Requests, 0), min(a.left.Bytes, 0)}
}

// Export returns what the fleet should store for a host: what is reserved of
// its budget or, if final is true, what is used. The result is zero if that is
// nothing.
func (b *Budgets) Export(today int64, host string, final bool) (day int64, reserved Amount) {
	a := b.find(today, host)
	if a == nil {
		return 0, Amount{}
	}
	reserved = a.reserved.plus(a.requested)
	if final {
		reserved = a.used()
	}
	if reserved == (Amount{}) {
		return 0, Amount{}
	}
	return a.day, reserved
}

// Import takes over what other processes have reserved of a host's budget on
// the given day. If the known budget is of that day, the larger numbers count.
// If the given day is later, because another clock is ahead, the known budget
// is replaced. A past day is ignored, and so is a day later than tomorrow,
// because no clock should be so far ahead.
//
// Import counts the budget even beyond MaxHosts, until Release. Otherwise this
// process would give the host away with a budget of which nothing is used.
func (b *Budgets) Import(today int64, host string, day int64, reserved Amount) {
	if !b.HasLimit() || reserved == (Amount{}) {
		return
	}
	b.changeDay(today)
	if day < b.today || day > b.today+1 {
		return
	}
	a := b.open(today, host)
	switch {
	case day > a.day:
		*a = hostBudget{day: day, reserved: reserved}
	case day == a.day:
		a.reserved.Requests = max(a.reserved.Requests, reserved.Requests)
		a.reserved.Bytes = max(a.reserved.Bytes, reserved.Bytes)
	}
}

// find returns the present budget of a host, or nil if there is none.
func (b *Budgets) find(today int64, host string) *hostBudget {
	b.changeDay(today)
	return b.byHost[host]
}

// changeDay removes, if the day has changed, the budgets of past days and of
// days after tomorrow. A budget that is so far ahead comes from a wrong clock.
// If it were kept and was spent, its host would get no requests until the end
// of that day. The budgets of tomorrow are kept, because the clock of another
// process may be ahead. A clock that is set back by one day changes nothing.
func (b *Budgets) changeDay(today int64) {
	if today <= b.today && today >= b.today-1 {
		return
	}
	b.today = today
	for host, a := range b.byHost {
		if a.day < today || a.day > today+1 {
			delete(b.byHost, host)
		}
	}
}

// open returns the present budget of a host, and makes it if there is none.
func (b *Budgets) open(today int64, host string) *hostBudget {
	if a := b.find(today, host); a != nil {
		return a
	}
	a := &hostBudget{day: b.today}
	if !b.IsShared {
		a.reserved = b.Limit
		a.left = b.Limit
	}
	if b.byHost == nil {
		b.byHost = make(map[string]*hostBudget)
	}
	b.byHost[strings.Clone(host)] = a // host may be a piece of a long URL
	return a
}

func (b *Budgets) isFull() bool { return len(b.byHost) >= b.MaxHosts }

// isUsedUp reports whether this process has used up what it has reserved.
func (b *Budgets) isUsedUp(a *hostBudget) bool {
	noRequests := b.Limit.Requests > 0 && a.left.Requests <= 0
	noBytes := b.Limit.Bytes > 0 && a.left.Bytes <= 0
	return noRequests || noBytes
}

// isSpent reports whether this process can get no more requests, or no more
// bytes: it has used up its part, and the whole budget is reserved.
func (b *Budgets) isSpent(a *hostBudget) bool {
	return isSpent(b.Limit.Requests, a.reserved.Requests, a.left.Requests) ||
		isSpent(b.Limit.Bytes, a.reserved.Bytes, a.left.Bytes)
}

func isSpent(limit, reserved, left int64) bool { return limit > 0 && left <= 0 && reserved >= limit }

// used returns what all processes that share the budget have used, as far as
// this process knows.
func (a *hostBudget) used() Amount {
	return a.reserved.plus(Amount{-a.left.Requests, -a.left.Bytes})
}

func (p Amount) plus(q Amount) Amount {
	return Amount{addCapped(p.Requests, q.Requests), addCapped(p.Bytes, q.Bytes)}
}

// addCapped returns a + b, or the greatest number if the sum overflows.
func addCapped(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
