package politeness

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// Acquire waits until a request to u's host may start, and takes its slot.
// Requests to one host start in the order of their calls, but those marked
// [Exempt] have a line of their own. Make the request at once, and call
// [Grant.Done] when it is over.
//
// Acquire returns a [*DelayError] as soon as it knows that it must refuse the
// request: the wait would outlast the context's deadline or MaxWait, or there
// is another cause that DelayError lists. If the context is canceled, the error
// wraps the context's error. If a check of [WithCheck] fails, the error wraps
// the check's error. If the Limiter's fields are invalid, the error is that of
// [Limiter.Validate]. Any other error states what is wrong with u. After an
// error, the request has used up no slot and no budget, and the next request in
// the queue moves up.
func (l *Limiter) Acquire(ctx context.Context, u *url.URL) (*Grant, error) {
	g := new(Grant)
	if err := l.acquire(ctx, u, g); err != nil {
		return nil, err
	}
	return g, nil
}

// acquire does the work of Acquire with g, a Grant in which nothing is set but
// perhaps afterRedirect.
func (l *Limiter) acquire(ctx context.Context, u *url.URL, g *Grant) error {
	if err := l.prepare(ctx, u, g); err != nil {
		return err
	}
	for stage := g; stage != nil; stage = stage.next {
		stage.readSettings()
	}
	g.setDeadline(ctx)
	hasReturned := false
	defer func() {
		if !hasReturned {
			g.abandon()
		}
	}()
	err := l.acquirePrepared(ctx, g)
	hasReturned = true
	return err
}

// abandon removes g from every queue and frees its slot, because a callback has
// panicked.
func (g *Grant) abandon() {
	g.leave(false)
	g.limiter.mu.Lock()
	hasStarted := g.state == inFlight
	g.limiter.mu.Unlock()
	if hasStarted {
		g.Done(Outcome{})
	}
}

func (l *Limiter) acquirePrepared(ctx context.Context, g *Grant) error {
	if ctx.Err() != nil {
		return l.ended(ctx, g, 0, "")
	}
	return l.wait(ctx, g)
}

// prepare makes a Grant for each Limiter that must agree.
func (l *Limiter) prepare(ctx context.Context, u *url.URL, g *Grant) error {
	l.init()
	if l.invalid != nil {
		return invalidError{l.invalid}
	}
	key, err := l.hostKey(ctx, u)
	if err != nil {
		return err
	}
	g.limiter = l
	g.key = key
	g.trace = contextTrace(ctx)
	g.request.URL = u
	g.request.Deadline = schedule.Forever
	g.request.Traced = g.trace != nil
	if d := declaredCrawlDelay(ctx); d != nil {
		g.request.Exempt, g.request.Overtakes = *d < 0, *d == Exempt
		g.request.Declared, g.request.CrawlDelay = !g.request.Exempt, max(*d, 0)
	}
	if l.global != nil || l.Within != nil {
		return g.chain(ctx, u)
	}
	return nil
}

// setDeadline sets how long g may wait: until ctx ends, and no longer than the
// MaxWait of each Limiter of the chain allows.
func (g *Grant) setDeadline(ctx context.Context) {
	remaining := schedule.Unlimited
	if ctx.Done() != nil { // otherwise it never ends, and its deadline is ignored
		if deadline, ok := ctx.Deadline(); ok {
			remaining = time.Until(deadline)
		}
	}
	for stage := g; stage != nil; stage = stage.next {
		if wait, ok := stage.maxWait(g.afterRedirect); ok {
			remaining = min(remaining, wait)
			g.timed = true
		}
	}
	if remaining == schedule.Unlimited {
		return
	}
	for stage := g; stage != nil; stage = stage.next {
		stage.request.Deadline = stage.limiter.now().Add(remaining)
	}
}

func (l *Limiter) hostKey(ctx context.Context, u *url.URL) (string, error) {
	if u == nil {
		return "", errors.New("politeness: Acquire of a nil URL: give the URL to be requested")
	}
	if len(u.Host) > maxName && (len(u.Host) > maxHost || isTooLong(u.Hostname())) {
		// This URL is refused before Key is called. Whatever Key returns,
		// net/http would convert the name, and that takes half a minute for a
		// very long name.
		return "", fmt.Errorf("politeness: no pace for this URL: %w", errHostTooLong)
	}
	key, err := l.set.key(ctx, u)
	if err == nil && key == "" {
		err = errors.New("the Limiter's Key is empty for it")
	}
	if err != nil {
		return "", fmt.Errorf("politeness: no pace for this URL: %w", err)
	}
	return key, nil
}

// chain appends a Grant for each other Limiter that must agree.
func (g *Grant) chain(ctx context.Context, u *url.URL) error {
	g.wake = make(chan struct{}, 1)
	last := g
	add := func(l *Limiter, key string) {
		last.next = &Grant{request: schedule.Request{Deadline: schedule.Forever}, limiter: l, key: key, wake: g.wake}
		last = last.next
	}
	for l := g.limiter; ; {
		if l.global != nil {
			add(l.global, "")
		}
		if l = l.Within; l == nil {
			return nil
		}
		l.init()
		key, err := l.hostKey(ctx, u)
		if err != nil {
			return err
		}
		add(l, key)
	}
}

// maxWait returns the shortest wait that the MaxWait of g's Limiter refuses, or
// false if MaxWait limits nothing. If the request follows a redirect, one
// interval more is allowed: the one after the redirect.
func (g *Grant) maxWait(afterRedirect bool) (wait time.Duration, limited bool) {
	l := g.limiter
	if l.MaxWait == 0 {
		return 0, false
	}
	if l.MaxWait > 0 {
		wait = schedule.Sum(l.MaxWait, 1) // a wait of exactly MaxWait is allowed
	}
	if afterRedirect {
		interval := max(l.set.host.Delay, l.set.host.MaxCrawlDelay, g.configuredInterval())
		wait = schedule.Sum(wait, schedule.Sum(interval, 1))
	}
	return wait, true
}

// wait returns when g has started or is refused, or ctx has ended. It tries g
// again when g is woken, and when readiness.wait is over.
func (l *Limiter) wait(ctx context.Context, g *Grant) (err error) {
	check := contextCheck(ctx)
	began := l.now()
	var timer *time.Timer
	var waits waitReasons
	lastUntil, lastWhy := schedule.Never, schedule.ReasonNone
	var readiness readiness
	for {
		readiness, err = l.tryChecked(ctx, g, check)
		if err != nil || readiness.ready || readiness.refused {
			break
		}
		waits.changeTo(readiness.why, l.now())
		if g.trace != nil && g.trace.Queued != nil && (readiness.until != lastUntil || readiness.why != lastWhy) {
			lastUntil, lastWhy = readiness.until, readiness.why
			g.trace.Queued(at(lastUntil.Sub(l.now())), reasons[lastWhy])
		}
		var alarm <-chan time.Time
		if readiness.wait != schedule.Unlimited {
			if timer == nil {
				timer = time.NewTimer(readiness.wait)
			} else {
				timer.Reset(readiness.wait)
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
	return l.waited(ctx, g, &readiness, began, &waits, err)
}

// tryChecked starts g, if it may start now and check, if there is one, agrees.
func (l *Limiter) tryChecked(ctx context.Context, g *Grant, check func(context.Context) error) (readiness readiness, err error) {
	g.readLaterSettings()
	readiness = g.try(check == nil)
	l.report(g.key, readiness.notice)
	if check == nil || !readiness.ready {
		return readiness, nil
	}
	if err = g.runCheck(ctx, check); err != nil {
		return readiness, err
	}
	readiness = g.try(true)
	l.report(g.key, readiness.notice)
	return readiness, nil
}

// runCheck calls check. If check fails or panics, g leaves all queues.
func (g *Grant) runCheck(ctx context.Context, check func(context.Context) error) error {
	passed := false
	defer func() {
		if !passed {
			g.failCheck()
		}
	}()
	if err := check(ctx); err != nil {
		return fmt.Errorf("politeness: the request to %s is not made: %w", g.key, err)
	}
	passed = true
	return nil
}

// failCheck removes g from all queues because its check has failed.
func (g *Grant) failCheck() {
	l := g.limiter
	l.mu.Lock()
	if g.state == queued {
		g.host.Rejoins(&g.request)
	}
	l.mu.Unlock()
	g.leave(false)
}

// waited reports how g's wait has ended, and returns its error. failed is the
// error of g's check.
func (l *Limiter) waited(ctx context.Context, g *Grant, readiness *readiness, began schedule.Time, waits *waitReasons, failed error) error {
	now := l.now()
	waited, why := now.Sub(began), waits.end(now)
	if why == "" {
		waited = 0 // it has not waited
	}
	switch {
	case failed != nil:
		l.reportCanceled(ctx, g, waited, why)
		return failed
	case readiness.ready:
		l.reportGranted(ctx, g, &readiness.inForce, waited, why)
		return nil
	case readiness.refused:
		return l.refuse(ctx, g, waited, readiness.wait, reasons[readiness.why])
	}
	return l.ended(ctx, g, waited, why)
}

// refuse reports that g is refused, and returns its DelayError. g has waited
// for the first duration, and may be retried after the second.
func (l *Limiter) refuse(ctx context.Context, g *Grant, waited, retryIn time.Duration, why Reason) error {
	err := &DelayError{Host: g.key, Until: at(retryIn), Reason: why, Err: l.blockedBy(g.key)}
	l.reportRefused(ctx, g, waited, err.Until, why)
	return err
}

// blockedBy returns the error of the fleet that holds up requests to the host
// with this key. It returns nil if they wait only for their time.
func (l *Limiter) blockedBy(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts.Get(key); h != nil && h.Claim != nil && !h.Claim.Owned {
		return holder(h).blockedBy
	}
	return nil
}

// ended removes g from every queue because its context has ended, and returns
// the error.
func (l *Limiter) ended(ctx context.Context, g *Grant, waited time.Duration, why Reason) error {
	if ctx.Err() == context.DeadlineExceeded {
		return l.refuse(ctx, g, waited, g.leave(true), why)
	}
	g.leave(false)
	l.reportCanceled(ctx, g, waited, why)
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
	if err := l.prepare(context.Background(), u, g); err != nil {
		return time.Now()
	}
	for stage := g; stage != nil; stage = stage.next {
		stage.readSettings()
	}
	return at(g.estimate())
}
