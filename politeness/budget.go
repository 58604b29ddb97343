package politeness

import (
	"fmt"
	"strings"
	"time"
)

// A Budget limits what each host is asked for in one UTC day, by the wall
// clock. When a host's Budget is spent, further requests to that host are
// refused at once, until the day is over. Their [*DelayError] has the Reason
// "budget". A fetch of robots.txt ([Exempt]) counts too, but the Budget never
// refuses it.
//
// Dir keeps the count for the next run, and Limiter.Fleet for all processes of
// a fleet. With either, a process reserves a 32nd of the Budget at a time (but
// at least 1 request and 1 byte). It uses that part up before it reserves
// another. So a process that is killed wastes at most one such part for each
// host. Only fetches of robots.txt and bodies in flight can exceed the Budget.
type Budget struct {
	// Requests is how many requests to a host may start in a day. 0 or negative
	// means no limit.
	Requests int64

	// Bytes is how many bytes of response bodies may be read from a host in a
	// day. A Transport counts them, in the form in which its Base returns them.
	// A request may start as long as any bytes are left. Its body is then read
	// to the end, so the bodies in flight may exceed the limit. 0 or negative
	// means no limit.
	Bytes int64

	// Dir is a directory in which the count is kept for the next run, even if
	// this process is killed. It must be on a local disk, because requests to
	// all hosts wait for the writes, which are short and few. Only one process
	// at a time may use it. The directory is made if it does not exist. If it
	// cannot be written, hosts that need more of the Budget are refused. ""
	// means that the count is forgotten when the process ends. With
	// Limiter.Fleet, Dir must be "", because the fleet keeps the count.
	Dir string
}

// An account is what is known of one host's Budget on one day.
type account struct {
	day   int64 // in UTC, counted from 1970
	taken purse // reserved so far by all who share the Budget
	left  purse // what this process has reserved and not used; negative if it used more
	claim purse // in a fleet: what this process is reserving now; zero means nothing
}

func (b Budget) limits() bool { return b.Requests > 0 || b.Bytes > 0 }

// lacks reports whether a purse has too little to start a request.
func (b Budget) lacks(left purse) bool {
	return b.Requests > 0 && left.requests <= 0 || b.Bytes > 0 && left.bytes <= 0
}

// isSpent reports whether this process can get no more requests, or no more
// bytes: it has used up its part, and the whole Budget is reserved.
func (b Budget) isSpent(a *account) bool {
	return b.Requests > 0 && a.left.requests <= 0 && a.taken.requests >= b.Requests ||
		b.Bytes > 0 && a.left.bytes <= 0 && a.taken.bytes >= b.Bytes
}

// next returns the amount to reserve for an account that lacks something.
func (b Budget) next(a *account) purse {
	return purse{block(b.Requests, a.taken.requests, a.left.requests), block(b.Bytes, a.taken.bytes, a.left.bytes)}
}

func block(limit, taken, left int64) int64 {
	if limit <= 0 || left > 0 {
		return 0
	}
	return sum(min(max(limit/32, 1), max(limit-taken+left, 0)), -left) // -left is what was used beyond the reservation
}

// untilEnd returns the time until the account's day ends.
func (a *account) untilEnd() time.Duration { return time.Until(time.Unix((a.day+1)*86400, 0)) }

// used returns what all processes that share the Budget have used, as far as
// this one knows.
func (a *account) used() purse {
	return a.taken.plus(purse{-a.left.requests, -a.left.bytes})
}

// checkBudget returns an error if the fields of the Budget do not fit each
// other or the Limiter's other fields.
func (l *Limiter) checkBudget() error {
	switch {
	case l.Budget.Dir != "" && l.Fleet != nil:
		return fmt.Errorf("politeness: Limiter.Budget.Dir is %q: leave it out: Limiter.Fleet keeps the Budget", l.Budget.Dir)
	case l.Budget.Dir != "" && !l.Budget.limits():
		return fmt.Errorf("politeness: Limiter.Budget.Dir is %q, and there is no Budget: give Requests or Bytes", l.Budget.Dir)
	case l.Within != nil && l.Within.Budget.limits():
		return fmt.Errorf("politeness: Limiter.Within has a Budget: give it to the outer one alone")
	}
	return nil
}

// accountOf returns the present account of a host, or nil if there is none.
// When the day changes, accountOf forgets the accounts of past days and of days
// after tomorrow. An account that is so far ahead comes from a wrong clock. If
// it were kept and its Budget was spent, its host would be refused until the
// end of that day. The accounts of tomorrow are kept, because the clock of
// another process may be ahead.
func (l *Limiter) accountOf(key string) *account {
	if today := dayOf(time.Now()); today > l.day || today < l.day-1 {
		l.day, l.booksRead = today, false
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
		if l.Budget.Dir == "" && l.Fleet == nil { // nobody else shares the Budget
			a.taken = purse{l.Budget.Requests, l.Budget.Bytes}
			a.left = a.taken
		}
		l.accounts[strings.Clone(key)] = a
	}
	return a
}

// broke reports whether the Budget of g's host is spent, and for how much
// longer. It returns false if g is Exempt.
func (l *Limiter) broke(g *Grant) (wait time.Duration, yes bool) {
	if !l.Budget.limits() || g.exempt {
		return 0, false
	}
	if a := l.accountOf(g.key); a != nil && l.Budget.isSpent(a) {
		return a.untilEnd(), true
	}
	return 0, false
}

// afford reports, as ok, whether the Budget lets g start. If ok is false, v
// says whether g waits for a reservation or is refused, and for how long.
func (l *Limiter) afford(g *Grant, h *host, now time.Duration) (v look, ok bool) {
	if !l.Budget.limits() {
		return look{}, true
	}
	a := l.accountOf(g.key)
	if a == nil && len(l.accounts) >= l.set.maxHosts {
		a = &account{day: l.day}
		return look{refused: true, wait: a.untilEnd(), why: whyMaxHosts}, g.exempt
	}
	a = l.openAccount(g.key)
	if l.Budget.lacks(a.left) && !l.Budget.isSpent(a) {
		l.reserve(a, h, now)
	}
	switch {
	case !l.Budget.lacks(a.left):
		return look{}, true
	case l.Budget.isSpent(a):
		return look{refused: true, wait: a.untilEnd(), why: whyBudget}, g.exempt
	case l.Budget.Dir != "":
		v = look{refused: true, wait: l.bookRetry - now, why: whyBudget}
		if !l.bookTold && !g.exempt {
			l.bookTold = true
			v.notice = &notice{unbooked: l.bookErr}
		}
		return v, g.exempt
	}
	return look{wait: forever, until: max(g.until, now), why: whyFleet}, false
}

// affords reports whether g may start without a further reservation.
func (l *Limiter) affords(g *Grant) bool {
	if !l.Budget.limits() {
		return true
	}
	a := l.accountOf(g.key)
	return a != nil && !l.Budget.lacks(a.left)
}

// reserve reserves more of the Budget for h, or begins to do so. In a fleet, it
// does nothing if a reservation is under way, or if this Limiter does not own
// h.
func (l *Limiter) reserve(a *account, h *host, now time.Duration) {
	switch {
	case l.Fleet == nil && now >= l.bookRetry:
		l.book(a, h.key, now)
	case l.Fleet != nil && a.claim == (purse{}) && h.hold != nil && h.hold.owned:
		a.claim = l.Budget.next(a)
		l.Fleet.Look(h.hold)
	}
}

// book reserves more of the Budget in Budget.Dir, unless the books say that it
// is spent.
func (l *Limiter) book(a *account, key string, now time.Duration) {
	var err error
	if !l.booksRead {
		err = readBook(l.Budget.Dir, l.day, func(host string, p purse) {
			other := l.openAccount(host)
			other.taken = other.taken.plus(p)
		})
		l.booksRead = err == nil
	}
	if err == nil && !l.Budget.isSpent(a) {
		more := l.Budget.next(a)
		if err = writeBook(l.Budget.Dir, a.day, key, more); err == nil {
			a.taken, a.left = a.taken.plus(more), a.left.plus(more)
		}
	}
	if err != nil {
		l.bookErr, l.bookRetry = fmt.Errorf("politeness: Limiter.Budget.Dir cannot be used: %w", err), later(now, bookRetry)
		return
	}
	l.bookErr, l.bookTold = nil, false
}

// spend counts requests and bytes as used in the account of g's host. Call it
// only if the Limiter has a Budget.
func (l *Limiter) spend(g *Grant, used purse) {
	if l.accountOf(g.key) == nil && len(l.accounts) >= l.set.maxHosts {
		return // no room for an account: g is Exempt, or the day has changed
	}
	a := l.openAccount(g.key)
	a.left.requests -= used.requests
	a.left.bytes -= used.bytes
	if l.Budget.Bytes > 0 && a.left.bytes < 0 && !l.Budget.isSpent(a) {
		l.reserve(a, g.host, l.now()) // at once, in case this process ends
	}
}

// read counts n bytes that were read from a response's body.
func (g *Grant) read(n int) {
	g.reads.Add(1)
	if l := g.limiter; n > 0 && l.Budget.Bytes > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.spend(g, purse{bytes: int64(n)})
	}
}
