package politeness

import (
	"crypto/rand"
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
// Processes share a Budget by Dir or by Limiter.Fleet. Each process reserves a
// 32nd of the Budget at a time (but at least 1 request and 1 byte). It uses
// that part up before it reserves another. So a process that is killed wastes
// at most one such part for each host. Only fetches of robots.txt and bodies in
// flight can exceed the Budget.
type Budget struct {
	// Requests is how many requests to a host may start in a day. 0 or negative
	// means no limit.
	Requests int64

	// Bytes is how many bytes of response bodies may be read from a host in a
	// day. They are counted in the form in which Transport.Base returns them. A
	// request may start as long as any bytes are left. Its body is then read to
	// the end, so the bodies in flight may exceed the limit. 0 or negative
	// means no limit.
	Bytes int64

	// Dir is a directory in which the count is kept for the next run. All
	// processes of the machine that have the same Dir share the count. The
	// directory is made if it does not exist. "" means that the count is
	// forgotten when the process ends. With Limiter.Fleet, Dir must be "",
	// because the fleet keeps one count for all its members.
	Dir string
}

// An account is what is known of one host's Budget on one day.
type account struct {
	day   int64         // in UTC, counted from 1970
	taken purse         // reserved so far by all who share the Budget
	left  purse         // what this process has reserved and not used; negative if it used more
	claim purse         // what this process is reserving now; zero means nothing
	err   error         // why the last reservation failed
	retry time.Duration // when to try again, if the last reservation failed
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

// grant returns how much of a claim fits into what is left of the Budget.
func (b Budget) grant(taken, claim purse) purse {
	return purse{min(claim.requests, max(b.Requests-taken.requests, 0)), min(claim.bytes, max(b.Bytes-taken.bytes, 0))}
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
		if today < l.day && l.books != nil {
			l.books.me = rand.Text() // what was claimed under the old name counts as used
		}
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
	switch {
	case !l.Budget.lacks(a.left):
		return look{}, true
	case l.Budget.isSpent(a):
		return look{refused: true, wait: a.untilEnd(), why: whyBudget}, g.exempt
	case a.err != nil && a.retry > now:
		return look{refused: true, wait: a.retry - now, why: whyBudget}, g.exempt
	}
	l.claim(a, h)
	v = look{wait: forever, until: max(g.until, now), why: whyBudget}
	if l.Fleet != nil {
		v.why = whyFleet
	}
	return v, false
}

func (l *Limiter) affords(g *Grant, h *host, now time.Duration) bool {
	if !l.Budget.limits() {
		return true
	}
	_, ok := l.afford(g, h, now)
	return ok
}

// claim begins to reserve more of the Budget for h. It does nothing if a
// reservation is under way or if, in a fleet, this Limiter does not own h.
func (l *Limiter) claim(a *account, h *host) {
	if a.claim != (purse{}) {
		return // a reservation is under way
	}
	if l.Fleet != nil && (h.hold == nil || !h.hold.owned) {
		return // only the owner reserves
	}
	a.claim, a.err = l.Budget.next(a), nil
	if l.Fleet != nil {
		l.Fleet.Look(h.hold)
	} else if l.books != nil {
		l.book(h.key)
	}
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
		l.claim(a, g.host) // report at once what was overspent, in case this process ends
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

// book queues a host's claim, for keepBooks to write.
func (l *Limiter) book(key string) {
	b := l.books
	b.claims = append(b.claims, key)
	if !b.writing {
		b.writing = true
		go l.keepBooks()
	}
}

// keepBooks writes the queued claims until none is left.
func (l *Limiter) keepBooks() {
	for {
		l.mu.Lock()
		keys := l.books.claims
		l.books.claims = nil
		var lines []byte
		var claimed []*account
		for _, key := range keys {
			if a := l.accountOf(key); a != nil && a.claim != (purse{}) {
				claimed = append(claimed, a)
				lines = fmt.Appendf(lines, "%d %d %s %q\n", a.claim.requests, a.claim.bytes, l.books.me, key)
			}
		}
		if len(keys) == 0 {
			l.books.writing = false
			l.mu.Unlock()
			return
		}
		day, me := l.day, l.books.me
		l.mu.Unlock()
		entries, err := l.books.write(day, me, lines)
		l.mu.Lock()
		told := l.booked(day, keys, claimed, entries, err)
		l.mu.Unlock()
		if told != nil {
			l.tellUnbooked(told)
		}
	}
}

// booked applies the results of books.write: entries and err. keys are the
// hosts whose claims were queued. claimed are the accounts whose claims were
// passed to books.write. booked returns the error to log: nil if nothing
// failed, or if the previous write failed too.
func (l *Limiter) booked(day int64, keys []string, claimed []*account, entries []entry, err error) (tell error) {
	for _, e := range entries {
		if a := l.openAccount(e.host); a.day == day {
			granted := l.Budget.grant(a.taken, e.claim)
			a.taken = a.taken.plus(granted)
			if e.by == l.books.me {
				a.left = a.left.plus(granted)
			}
		}
	}
	for _, a := range claimed {
		a.claim = purse{}
		if err != nil {
			a.err, a.retry = fmt.Errorf("politeness: the budget cannot be kept: %w", err), later(l.now(), bookRetry)
		}
	}
	for _, key := range keys {
		if h := l.hosts[key]; h != nil {
			h.pokeHeads()
		}
	}
	if err != nil && !l.books.failing {
		tell = err
	}
	l.books.failing = err != nil
	return tell
}

// tellUnbooked logs that the count of the Budget cannot be written.
func (l *Limiter) tellUnbooked(err error) {
	l.logger().Warn("politeness: what is used of Limiter.Budget cannot be kept: hosts that need more of it are not asked; see to the directory",
		"dir", l.Budget.Dir, "error", err)
}
