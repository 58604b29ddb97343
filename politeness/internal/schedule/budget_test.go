package schedule

import (
	"fmt"
	"math"
	"testing"
	"unsafe"
)

// Each row is a sequence of events. After each event, want is whether a request
// may start on that day, and until is the day that this is known for.
func TestBudgets(t *testing.T) {
	const host = "shop.example"
	type event func(b *Budgets, today int64)
	none := func(*Budgets, int64) {}
	spend := func(requests, bytes int64) event {
		return func(b *Budgets, today int64) { b.Spend(today, host, Amount{requests, bytes}) }
	}
	reserve := func(b *Budgets, today int64) { b.Reserve(today, host) }
	confirm := func(requests, bytes int64) event {
		return func(b *Budgets, today int64) { b.Confirm(today, host, today, Amount{requests, bytes}) }
	}
	imported := func(day, requests, bytes int64) event {
		return func(b *Budgets, today int64) { b.Import(today, host, day, Amount{requests, bytes}) }
	}
	release := func(isReturned bool) event {
		return func(b *Budgets, today int64) { b.Release(today, host, isReturned) }
	}
	type step struct {
		today int64
		event event
		want  BudgetVerdict
		until int64
	}
	for _, tt := range []struct {
		name   string
		limit  Amount
		shared bool
		steps  []step
	}{
		{"no limit", Amount{}, false, []step{{1, none, BudgetLeft, 1}, {1, spend(1000, 1000), BudgetLeft, 1}}},
		{"a negative limit", Amount{-1, -1}, false, []step{{1, none, BudgetLeft, 1}, {1, spend(1000, 1000), BudgetLeft, 1}}},
		{"requests", Amount{Requests: 2}, false, []step{{1, none, BudgetLeft, 1}, {1, spend(1, 9000), BudgetLeft, 1}, {1, spend(1, 0), BudgetSpent, 1}}},
		{"more than the limit", Amount{Requests: 2}, false, []step{{1, spend(2, 0), BudgetSpent, 1}, {1, spend(1, 0), BudgetSpent, 1}}},
		{"bytes", Amount{Bytes: 100}, false, []step{{1, spend(7, 99), BudgetLeft, 1}, {1, spend(0, 900), BudgetSpent, 1}}},
		{"requests and bytes", Amount{5, 100}, false, []step{{1, spend(4, 100), BudgetSpent, 1}}},
		{"the next day", Amount{Requests: 2}, false, []step{{1, spend(2, 0), BudgetSpent, 1}, {2, none, BudgetLeft, 2}, {2, spend(2, 0), BudgetSpent, 2}}},
		{"the clock is set back by a day", Amount{Requests: 2}, false, []step{{8, spend(2, 0), BudgetSpent, 8}, {7, none, BudgetSpent, 8}}},
		{"the clock is set back by a year", Amount{Requests: 2}, false, []step{{400, spend(2, 0), BudgetSpent, 400}, {35, none, BudgetLeft, 35}, {35, spend(2, 0), BudgetSpent, 35}}},

		{"in a fleet, a part must be reserved", Amount{Requests: 64}, true, []step{{1, none, BudgetUnreserved, 1}, {1, reserve, BudgetUnreserved, 1}, {1, confirm(2, 0), BudgetLeft, 1}, {1, spend(1, 0), BudgetLeft, 1}, {1, spend(1, 0), BudgetUnreserved, 1}}},
		{"the fleet has stored something else", Amount{Requests: 64}, true, []step{{1, reserve, BudgetUnreserved, 1}, {1, confirm(4, 0), BudgetUnreserved, 1}}},
		{"a reservation of the day before", Amount{Requests: 64}, true, []step{{1, reserve, BudgetUnreserved, 1}, {2, confirm(2, 0), BudgetUnreserved, 2}}},
		{"a part is at least 1", Amount{Requests: 3}, true, []step{{1, reserve, BudgetUnreserved, 1}, {1, confirm(1, 0), BudgetLeft, 1}}},
		{"the last part", Amount{Requests: 64}, true, []step{{1, imported(1, 63, 0), BudgetUnreserved, 1}, {1, reserve, BudgetUnreserved, 1}, {1, confirm(64, 0), BudgetLeft, 1}, {1, spend(1, 0), BudgetSpent, 1}}},
		{"others have reserved everything", Amount{Requests: 64}, true, []step{{1, imported(1, 64, 0), BudgetSpent, 1}}},
		{"what was used beyond the reservation is reserved too", Amount{Bytes: 320}, true, []step{{1, spend(0, 50), BudgetUnreserved, 1}, {1, reserve, BudgetUnreserved, 1}, {1, confirm(0, 60), BudgetLeft, 1}, {1, spend(0, 9), BudgetLeft, 1}, {1, spend(0, 1), BudgetUnreserved, 1}}},
		{"the same at the end of the budget", Amount{Bytes: 320}, true, []step{{1, imported(1, 0, 300), BudgetUnreserved, 1}, {1, spend(0, 50), BudgetUnreserved, 1}, {1, reserve, BudgetUnreserved, 1}, {1, confirm(0, 350), BudgetSpent, 1}}},
		{"the greater numbers of two processes count", Amount{3, 100}, true, []step{{1, imported(1, 3, 0), BudgetSpent, 1}, {1, imported(1, 1, 1), BudgetSpent, 1}}},
		{"another clock is a day ahead", Amount{Requests: 3}, true, []step{{1, imported(2, 3, 0), BudgetSpent, 2}, {2, none, BudgetSpent, 2}, {3, none, BudgetUnreserved, 3}}},
		{"another clock is two days ahead", Amount{Requests: 3}, true, []step{{1, imported(3, 3, 0), BudgetUnreserved, 1}}},
		{"another clock is a day late", Amount{Requests: 3}, true, []step{{2, imported(1, 3, 0), BudgetUnreserved, 2}}},
		{"no limit, but others have one", Amount{}, true, []step{{1, imported(1, 3, 3), BudgetLeft, 1}}},
		{"the rest is returned", Amount{Requests: 64}, true, []step{{1, reserve, BudgetUnreserved, 1}, {1, confirm(2, 0), BudgetLeft, 1}, {1, spend(1, 0), BudgetLeft, 1}, {1, release(true), BudgetUnreserved, 1}, {1, reserve, BudgetUnreserved, 1}, {1, confirm(3, 0), BudgetLeft, 1}}},
		{"the rest is lost", Amount{Requests: 64}, true, []step{{1, reserve, BudgetUnreserved, 1}, {1, confirm(2, 0), BudgetLeft, 1}, {1, spend(1, 0), BudgetLeft, 1}, {1, release(false), BudgetUnreserved, 1}, {1, reserve, BudgetUnreserved, 1}, {1, confirm(4, 0), BudgetLeft, 1}}},
		{"a reservation ends unconfirmed", Amount{Requests: 64}, true, []step{{1, reserve, BudgetUnreserved, 1}, {1, release(false), BudgetUnreserved, 1}, {1, confirm(2, 0), BudgetUnreserved, 1}}},
		{"others have reserved the greatest number", Amount{Requests: 3}, true, []step{{1, imported(1, math.MaxInt64, 0), BudgetSpent, 1}, {1, spend(3, 0), BudgetSpent, 1}, {1, release(true), BudgetSpent, 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &Budgets{Limit: tt.limit, IsShared: tt.shared, MaxHosts: 10}
			for i, s := range tt.steps {
				s.event(b, s.today)
				if got, until := b.Check(s.today, host); got != s.want || until != s.until {
					t.Errorf("after event %d, Check = %d, day %d; want %d, day %d", i, got, until, s.want, s.until)
				}
			}
			if _, reserved := b.Export(1, host, true); reserved.Requests < 0 || reserved.Bytes < 0 {
				t.Errorf("Export returns the reservation %+v, want nothing below 0", reserved)
			}
		})
	}
}

// A process has reserved three of 96 requests, reserves three more and has used
// one.
func TestBudgets_Export(t *testing.T) {
	b := &Budgets{Limit: Amount{Requests: 96}, IsShared: true, MaxHosts: 10}
	check := func(want, wantFinal int64) {
		t.Helper()
		if day, got := b.Export(1, "a", false); got != (Amount{Requests: want}) || (day == 1) != (want > 0) {
			t.Errorf("Export = day %d, %+v; want %d requests (of day 1 if there are any)", day, got, want)
		}
		if day, got := b.Export(1, "a", true); got != (Amount{Requests: wantFinal}) || (day == 1) != (wantFinal > 0) {
			t.Errorf("the final Export = day %d, %+v; want %d requests (of day 1 if there are any)", day, got, wantFinal)
		}
	}
	check(0, 0)
	if b.IsReserving(1, "a") || !b.Reserve(1, "a") || b.Reserve(1, "a") || !b.IsReserving(1, "a") {
		t.Error("IsReserving, Reserve, Reserve and IsReserving, called in this order, do not return false, true, false and true")
	}
	check(3, 0)
	b.Confirm(1, "a", 1, Amount{Requests: 3})
	check(3, 0)
	b.Spend(1, "a", Amount{Requests: 1})
	check(3, 1)
	b.Reserve(1, "a") // nothing, because something is left
	check(3, 1)
	b.Spend(1, "a", Amount{Requests: 2})
	b.Reserve(1, "a")
	check(6, 3)
	b.Release(1, "a", true)
	check(3, 3)
}

// Bytes beyond the reservation have to be reserved at once.
func TestBudgets_SpendMustReserve(t *testing.T) {
	b := &Budgets{Limit: Amount{Bytes: 96}, IsShared: true, MaxHosts: 10}
	b.Reserve(1, "a")
	b.Confirm(1, "a", 1, Amount{Bytes: 3})
	for i, tt := range []struct {
		used Amount
		want bool
	}{{Amount{1, 3}, false}, {Amount{0, 1}, true}, {Amount{1, 0}, true}} {
		if got := b.Spend(1, "a", tt.used); got != tt.want {
			t.Errorf("Spend number %d of %+v = %t, want %t", i, tt.used, got, tt.want)
		}
	}
	b.Import(1, "a", 1, Amount{Bytes: 96})
	if b.Spend(1, "a", Amount{0, 1}) {
		t.Error("Spend = true although nothing is left to be reserved, want false")
	}
}

// MaxHosts limits the number of hosts whose budgets are counted on one day.
func TestBudgets_MaxHosts(t *testing.T) {
	b := &Budgets{Limit: Amount{Requests: 2}, MaxHosts: 3}
	for day := range int64(3) {
		for i := range 5 {
			host := fmt.Sprint("host ", i)
			want := BudgetLeft
			if i >= b.MaxHosts {
				want = BudgetUncounted
			}
			if got, until := b.Check(day, host); got != want || until != day {
				t.Errorf("Check of day %d, host %d = %d, day %d; want %d, day %d", day, i, got, until, want, day)
			}
			b.Spend(day, host, Amount{Requests: 1})
		}
		if n := len(b.byHost); n != b.MaxHosts {
			t.Errorf("on day %d, %d budgets are kept, want %d", day, n, b.MaxHosts)
		}
	}
}

// A process of a fleet, with room for three budgets, takes over one host after
// the other. Each has a budget that others have reserved a part of. The process
// counts the budget while it owns the host, and hands it over. After that, only
// three budgets are kept. A budget of a past day, or of a day far ahead, takes
// up no room.
func TestBudgets_MaxHostsOfImports(t *testing.T) {
	b := &Budgets{Limit: Amount{Requests: 64}, IsShared: true, MaxHosts: 3}
	for i, day := range []int64{7, 11, 1 << 40} {
		if b.Import(9, fmt.Sprint("other day ", i), day, Amount{Requests: 1}); len(b.byHost) > 0 {
			t.Errorf("on day 9, an imported budget of day %d is kept, want none", day)
		}
	}
	for i := range 10 {
		host := fmt.Sprint("host ", i)
		b.Import(9, host, 9, Amount{Requests: 60})
		b.Reserve(9, host)
		b.Confirm(9, host, 9, Amount{Requests: 62})
		if v, _ := b.Check(9, host); v != BudgetLeft {
			t.Errorf("Check of %s = %d, want %d, so that a request may start", host, v, BudgetLeft)
		}
		b.Spend(9, host, Amount{Requests: 1})
		if _, used := b.Export(9, host, true); used.Requests != 61 {
			t.Errorf("%s: Export returns %d used requests, want 61", host, used.Requests)
		}
		b.Release(9, host, i%2 == 0)
		if n := len(b.byHost); n > b.MaxHosts {
			t.Errorf("after %s was released, %d budgets are kept, want at most %d", host, n, b.MaxHosts)
		}
	}
}

// The name of a host may be a piece of a URL of megabytes. Budgets keep a copy.
func TestBudgets_KeysAreCopies(t *testing.T) {
	b := &Budgets{Limit: Amount{Requests: 2}, MaxHosts: 3}
	host := fmt.Sprint("shop", ".example")
	b.Spend(1, host, Amount{Requests: 1})
	for key := range b.byHost {
		if unsafe.StringData(key) == unsafe.StringData(host) {
			t.Error("the key of the budget shares memory with the argument of Spend, want a copy")
		}
	}
}
