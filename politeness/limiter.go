package politeness

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Limiter decides when the next request to a host may start. One Limiter
// serves all the hosts of a crawl. Each host has its own queue and its own
// pace. A request waits for requests to other hosts only if Within or
// GlobalRate is set.
//
// The zero value is polite: each host gets at most one request per second, one
// at a time. The fields must not be changed after the first use, and a Limiter
// must not be copied. All methods are safe for concurrent use.
type Limiter struct {
	// Delay is the least time between the starts of two requests to one host. 0
	// means 1 s. Negative means none, but Concurrency, Crawl-delays and pauses
	// still apply.
	Delay time.Duration

	// Concurrency is how many requests to one host may be in flight, from their
	// start until [Grant.Done]. It is always 1 for a host with a Crawl-delay. 0
	// means 1. Negative means no limit.
	Concurrency int

	// MaxCrawlDelay is the longest Crawl-delay that requests wait for. If a
	// host's Crawl-delay is longer, the first request to the host starts, and
	// further requests are refused with a [*DelayError] until the Crawl-delay
	// is over. 0 means 60 s. Negative means no maximum.
	MaxCrawlDelay time.Duration

	// ClampCrawlDelay cuts a Crawl-delay that exceeds MaxCrawlDelay to
	// MaxCrawlDelay, so that requests wait instead of being refused. That
	// disobeys the host. So the cut is logged, once for each host.
	ClampCrawlDelay bool

	// MaxRetryAfter is the longest pause that a Retry-After or a spent quota
	// can cause. A longer one is cut, so that a mistake of a server's operator
	// does not end a crawl. A pause for a quota may last one second more than
	// MaxRetryAfter. 0 means 24 h. Negative means no maximum.
	MaxRetryAfter time.Duration

	// EndToStart counts every interval from the end of a request (Grant.Done)
	// instead of from its start. So a host that answers slowly is left alone
	// for the whole interval.
	EndToStart bool

	// Jitter lengthens each interval at random, by up to this fraction of the
	// interval. With 0.5, an interval becomes up to half longer. 0 means no
	// jitter.
	Jitter float64

	// Adaptive derives a delay from the host's own response times: a host rests
	// for this many response times, such as 5, but for at most 60 s and never
	// less than Delay. The delay rises at once, and falls by half of the
	// difference with each 2xx answer. 0 means off.
	Adaptive float64

	// BackOff is the pause after the first 429 without a usable Retry-After. It
	// doubles with every further incident in a row. An incident is a refusal,
	// together with the refusals of requests that were in flight then. If the
	// first incident is a 503, or an answer that is surely a challenge, a
	// captcha or a block, the host rests for only one more interval. The second
	// such incident in a row counts as a 429, and so does each further one. 0
	// means 5 s. Negative means none, and only a Retry-After or a spent quota
	// pauses a host.
	BackOff time.Duration

	// MaxBackOff is the longest pause that the doubling of BackOff reaches. 0
	// means 1 h. Negative means no maximum.
	MaxBackOff time.Duration

	// MaxWait is the longest time that Acquire waits. A request that would wait
	// longer is refused with a [*DelayError] as soon as that is known. 0 means
	// as long as the context allows. Negative means no wait at all.
	MaxWait time.Duration

	// Lease is how long a grant holds its slot if Done is not called. It has to
	// be longer than the longest request. A Transport prolongs the Lease to
	// AttemptTimeout if AttemptTimeout is longer. 0 means 10 min. Negative
	// means no limit.
	Lease time.Duration

	// Key returns the name of the host that a URL belongs to. Requests with the
	// same key share one pace. If Key returns an error or an empty name,
	// Acquire returns an error. Many goroutines may call Key at the same time.
	// nil means [HostKey].
	Key func(ctx context.Context, u *url.URL) (string, error)

	// Within, if not nil, is a second Limiter: a request starts when both allow
	// it. Give it another Key, such as [IPKey], to be gentle with a machine
	// that serves many hosts. With a Key that is the same for all URLs, its
	// Concurrency limits the requests in flight to all hosts together. The
	// second Limiter keeps its own Delay, EndToStart, Jitter, Concurrency,
	// MaxWait, Lease, MaxHosts, GlobalRate and Within. It must have neither
	// Fleet nor Budget. Crawl-delay, back-off, quotas and adaptive pace apply
	// only in the first Limiter, whose Observer and Logger serve both. Several
	// Limiters may share one Within.
	Within *Limiter

	// GlobalRate, if not nil, limits the requests to all hosts together: each
	// request takes a token from it. Other parts of the program may take tokens
	// from it too.
	GlobalRate *rate.Limiter

	// Fleet, if not nil, makes sure that only one of many Limiters owns a host
	// at any time, so that the processes of a fleet keep one pace. Give all of
	// these Limiters the same fields. A request to a host that another Limiter
	// owns waits until the owner gives the host away. The owner usually does so
	// after 2 s, or soon after its last request to the host is over. A Fleet
	// serves one Limiter, which cannot be the Within of another. nil means that
	// this process paces alone.
	Fleet Fleet

	// Budget limits what each host is asked for in a day. The zero value is no
	// limit.
	Budget Budget

	// MaxHosts is how many hosts are remembered. When new hosts come, the
	// Limiter forgets hosts whose interval and pause are over. If it knows more
	// about a host, such as a Crawl-delay or a history of refusals, it forgets
	// the host only when there are MaxHosts. Then the host that was used
	// longest ago goes. A host with requests, or within its interval, stays,
	// above MaxHosts if need be. Paused hosts hold nine tenths of the places at
	// most: beyond that, and when nothing else can go, one of them goes, at
	// random. So no new host is refused. But with a Budget, MaxHosts limits how
	// many hosts are asked in one day, because their counts are kept all day. 0
	// means 1,000,000. Negative means no limit.
	MaxHosts int

	// Observer is told what happens to requests and hosts. [Join] combines
	// several Observers. nil means that nobody is told.
	Observer *Observer

	// Logger gets warnings about a response body that nobody reads, a
	// Crawl-delay that was cut, and a Budget.Dir that cannot be used. At debug
	// level it gets each back-off. nil means [slog.Default].
	Logger *slog.Logger

	once    sync.Once
	invalid error
	set     settings
	epoch   time.Time // a point in time is kept as the duration since epoch, on the monotonic clock
	whole   *Limiter  // lets one request at a time ask GlobalRate; nil means that GlobalRate is nil
	gate    *rate.Limiter

	mu     sync.Mutex // held for moments, never during a wait
	hosts  map[string]*host
	idle   hostRing      // hosts that no request needs, least recently used first, but for paused ones
	paused []*host       // hosts whose answers paused them, and some whose pause is over
	queued uint64        // how many requests have queued
	starts uint64        // how many requests have started
	reaped time.Duration // the time of the latest search of all hosts for expired leases
	stats  Stats

	accounts  map[string]*account // Budget accounts by host
	day       int64               // the current day in UTC, counted from 1970
	booksRead bool                // the day's book in Budget.Dir was read
	bookErr   error               // why Budget.Dir cannot be used; nil if it can
	bookTold  bool                // the log says so
	bookRetry time.Duration       // when to try Budget.Dir again
}

// settings are those fields of a Limiter that have defaults. 0 and negative
// values are replaced by what they mean.
type settings struct {
	delay, maxCrawl, maxRetryAfter time.Duration
	backOff, maxBackOff, lease     time.Duration
	concurrency                    int32
	maxHosts                       int
	key                            func(context.Context, *url.URL) (string, error)
}

// never and forever are points in time, as durations since the Limiter's epoch.
const (
	never   time.Duration = math.MinInt64 / 2 // has not happened yet
	forever time.Duration = math.MaxInt64     // will not happen by itself
)

func (l *Limiter) init() { l.once.Do(l.setUp) }

func (l *Limiter) setUp() {
	l.epoch = time.Now()
	l.hosts = make(map[string]*host)
	l.reaped, l.bookRetry = never, never
	l.accounts = make(map[string]*account)
	if l.invalid = l.check(); l.invalid != nil {
		return
	}
	l.set = settings{
		delay:         orDefault(l.Delay, time.Second, 0),
		maxCrawl:      orDefault(l.MaxCrawlDelay, time.Minute, forever),
		maxRetryAfter: orDefault(l.MaxRetryAfter, 24*time.Hour, forever),
		backOff:       orDefault(l.BackOff, 5*time.Second, 0),
		maxBackOff:    orDefault(l.MaxBackOff, time.Hour, forever),
		lease:         orDefault(l.Lease, 10*time.Minute, forever),
		concurrency:   int32(min(orDefault(l.Concurrency, 1, math.MaxInt32), math.MaxInt32)),
		maxHosts:      orDefault(l.MaxHosts, 1_000_000, math.MaxInt),
		key:           l.Key,
	}
	if l.set.key == nil {
		l.set.key = HostKey
	}
	if l.GlobalRate != nil {
		l.whole = &Limiter{Delay: -1, Concurrency: -1, Lease: l.Lease, MaxHosts: 1}
		l.whole.gate = l.GlobalRate
		l.whole.init()
	}
}

// orDefault returns v if v is positive, the second argument if v is 0, and the
// third if v is below 0.
func orDefault[T int | time.Duration](v, zero, negative T) T {
	switch {
	case v == 0:
		return zero
	case v < 0:
		return negative
	}
	return v
}

func (l *Limiter) check() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("politeness: Limiter.%s is %v: %s", field, value, want)
	}
	switch {
	case !(l.Jitter >= 0 && l.Jitter <= 100):
		return bad("Jitter", l.Jitter, "give a fraction of the interval, such as 0.5, or 0 for none")
	case !(l.Adaptive >= 0 && l.Adaptive <= 1e6):
		return bad("Adaptive", l.Adaptive, "give how many response times a host should rest, such as 5, or 0 for off")
	case l.GlobalRate != nil && l.GlobalRate.Burst() < 1 && l.GlobalRate.Limit() != rate.Inf:
		return bad("GlobalRate", "a rate.Limiter with no burst", "give it a burst of at least 1, or no request can ever pass")
	}
	if err := l.checkBudget(); err != nil {
		return err
	}
	seen := map[*Limiter]bool{l: true}
	for w := l.Within; w != nil; w = w.Within {
		if seen[w] {
			return bad("Within", "a circle", "let the last limiter of the chain have none")
		}
		seen[w] = true
	}
	if l.Within == nil {
		return nil
	}
	if l.Within.Fleet != nil {
		return bad("Within", "a Limiter with Fleet", "give Fleet to the outer one alone: only one pace is a fleet's")
	}
	l.Within.init()
	return l.Within.invalid
}

// now returns the time by the monotonic clock, so changes of the wall clock
// have no effect.
func (l *Limiter) now() time.Duration { return time.Since(l.epoch) }

// at returns the wall-clock time after a wait that begins now.
func at(wait time.Duration) time.Time { return time.Now().Add(max(wait, 0)) }

// Acquire waits until a request to u's host may start, and takes its slot.
// Requests to one host start in the order of their calls, but an [Exempt] one
// overtakes the others. Make the request at once, and call [Grant.Done] when it
// is over.
//
// Acquire returns a [*DelayError] as soon as it knows that it must refuse the
// request: the wait would outlast the context's deadline or MaxWait, or there
// is another cause that DelayError lists. If the context is cancelled, the
// error wraps the context's error. If a check of [WithCheck] fails, the error
// wraps the check's error. Any other error says what is wrong with u or
// with the Limiter's fields. After an error, the request has used up no slot
// and no budget, and the next request in the queue moves up.
func (l *Limiter) Acquire(ctx context.Context, u *url.URL) (*Grant, error) {
	g := new(Grant)
	if err := l.acquire(ctx, u, g); err != nil {
		return nil, err
	}
	return g, nil
}

// acquire does the work of Acquire with g, a zero Grant.
func (l *Limiter) acquire(ctx context.Context, u *url.URL, g *Grant) error {
	if err := l.ask(ctx, u, g); err != nil {
		return err
	}
	if g.ends && ctx.Err() != nil {
		return l.ended(ctx, g, 0, "")
	}
	return l.wait(ctx, g)
}

// ask prepares g, a zero Grant, for the queue of each Limiter that must agree.
func (l *Limiter) ask(ctx context.Context, u *url.URL, g *Grant) error {
	l.init()
	if l.invalid != nil {
		return l.invalid
	}
	key, err := l.keyOf(ctx, u)
	if err != nil {
		return err
	}
	g.limiter, g.key, g.url, g.limit, g.trace = l, key, u, forever, traceOf(ctx)
	if d := crawlDelayOf(ctx); d != nil {
		g.told, g.exempt, g.overtakes, g.crawl = true, *d < 0, *d == Exempt, max(*d, 0)
	}
	patience := forever
	if g.ends = ctx.Done() != nil; g.ends {
		if deadline, ok := ctx.Deadline(); ok {
			patience = time.Until(deadline)
		}
	}
	if wait, ok := l.maxWait(); ok {
		patience, g.timed = min(patience, wait), true
	}
	if l.whole != nil || l.Within != nil {
		if patience, err = g.chain(ctx, u, patience); err != nil {
			return err
		}
	}
	if patience != forever {
		for stage := g; stage != nil; stage = stage.then {
			stage.limit = later(stage.limiter.now(), patience)
		}
	}
	return nil
}

// chain appends a Grant for each other Limiter that must agree. The argument
// patience is how long the request may wait. If the MaxWait of one of these
// Limiters allows less, chain returns that time instead of patience.
func (g *Grant) chain(ctx context.Context, u *url.URL, patience time.Duration) (time.Duration, error) {
	g.wake = make(chan struct{}, 1)
	last := g
	add := func(l *Limiter, key string) {
		last.then = &Grant{limiter: l, key: key, limit: forever, wake: g.wake}
		last = last.then
	}
	for l := g.limiter; ; {
		if l.whole != nil {
			add(l.whole, "")
		}
		if l = l.Within; l == nil {
			return patience, nil
		}
		l.init()
		key, err := l.keyOf(ctx, u)
		if err != nil {
			return 0, err
		}
		if wait, ok := l.maxWait(); ok {
			patience, g.timed = min(patience, wait), true
		}
		add(l, key)
	}
}

// maxWait returns the shortest wait that MaxWait refuses, or false if MaxWait
// limits nothing.
func (l *Limiter) maxWait() (time.Duration, bool) {
	switch {
	case l.MaxWait < 0:
		return 0, true
	case l.MaxWait > 0:
		return later(l.MaxWait, 1), true // a wait of exactly MaxWait is allowed
	}
	return 0, false
}

// wait returns when g has started or is refused, or ctx has ended. It calls
// g.try again when g is woken, and when look.wait is over. Before g starts, it
// calls the check of ctx.
func (l *Limiter) wait(ctx context.Context, g *Grant) (err error) {
	check, asked := checkOf(ctx), l.now()
	var timer *time.Timer
	var waits spell
	told, toldWhy := never, whyNot
	var look look
	for checked := check == nil; ; {
		look = g.try(checked)
		if look.notice != nil {
			l.report(g.key, look.notice)
		}
		if look.ready && !checked {
			if err = g.pass(ctx, check); err != nil {
				break
			}
			checked = true
			continue
		}
		if look.ready || look.refused {
			break
		}
		checked = check == nil
		waits.next(look.why, l.now())
		if g.trace != nil && (look.until != told || look.why != toldWhy) {
			told, toldWhy = look.until, look.why
			l.traceWait(g, told, toldWhy)
		}
		var alarm <-chan time.Time
		if look.wait != forever {
			if timer == nil {
				timer = time.NewTimer(look.wait)
			} else {
				timer.Reset(look.wait)
			}
			alarm = timer.C
		}
		select {
		case <-g.wake:
		case <-alarm:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	if timer != nil {
		timer.Stop()
	}
	return l.waited(ctx, g, &look, asked, &waits, err)
}

func (l *Limiter) traceWait(g *Grant, until time.Duration, why why) {
	if g.trace.Queued != nil {
		g.trace.Queued(at(until-l.now()), reasons[why])
	}
}

// waited reports how g's wait has ended, and returns its error. failed is the
// error of g's check.
func (l *Limiter) waited(ctx context.Context, g *Grant, look *look, asked time.Duration, waits *spell, failed error) error {
	now := l.now()
	waited, why := now-asked, waits.longest(now)
	if why == "" {
		waited = 0 // it has not waited
	}
	switch {
	case failed != nil:
		l.cancelled(ctx, g, waited, why)
		return failed
	case look.ready:
		l.granted(ctx, g, waited, why)
		return nil
	case look.refused:
		return l.refuse(ctx, g, waited, look.wait, reasons[look.why])
	}
	return l.ended(ctx, g, waited, why)
}

// pass calls check. If check fails, g leaves all queues.
func (g *Grant) pass(ctx context.Context, check func(context.Context) error) error {
	passed := false
	defer func() {
		if !passed { // check failed or panicked
			g.leave(false)
		}
	}()
	if err := check(ctx); err != nil {
		return fmt.Errorf("politeness: the request to %s is not made: %w", g.key, err)
	}
	passed = true
	return nil
}

// refuse reports that g is refused, and returns its DelayError. g has waited
// for the first duration, and may come back after the second.
func (l *Limiter) refuse(ctx context.Context, g *Grant, waited, again time.Duration, why Reason) error {
	err := &DelayError{Host: g.key, Until: at(again), Reason: why, Err: l.why(g.key)}
	l.refused(ctx, g, waited, err.Until, why)
	return err
}

// ended removes g from every queue because its context has ended, and returns
// the error.
func (l *Limiter) ended(ctx context.Context, g *Grant, waited time.Duration, why Reason) error {
	if ctx.Err() == context.DeadlineExceeded {
		return l.refuse(ctx, g, waited, g.leave(true), why)
	}
	g.leave(false)
	l.cancelled(ctx, g, waited, why)
	return &cancelError{g.key, ctx.Err(), context.Cause(ctx)}
}

// Next returns the earliest time at which a request to u's host could start if
// it were made now. If it could start at once, Next returns the present time.
// The true time may be later, because Next ignores GlobalRate and assumes that
// slots will be free in time. A scheduler can sort its hosts by the result.
// Next takes no slot and does not wait, but a Key that looks names up, such as
// [IPKey], may take some time. A URL without a usable host, which Acquire would
// refuse, is due at once.
func (l *Limiter) Next(u *url.URL) time.Time {
	g := new(Grant)
	if err := l.ask(context.Background(), u, g); err != nil {
		return time.Now()
	}
	return at(g.outlook())
}
