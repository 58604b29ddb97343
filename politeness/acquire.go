package politeness

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// Acquire waits until a request to u's host may start, and takes its slot.
// Requests to one host start in the order of their calls, but those marked
// [Exempt] are queued separately. The caller should make the request at once,
// and call [Grant.Done] when it is over.
//
// Acquire returns a [*DelayError] as soon as it knows that it must reject the
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
	// setDeadline and the estimates need the settings of all stages. When g is
	// about to join the queues of later stages, readLaterSettings reads those
	// settings again.
	for stage := g; stage != nil; stage = stage.next {
		stage.readSettings()
	}
	g.setDeadline(ctx)
	hasReturned := false
	defer func() {
		if !hasReturned {
			g.cancelAfterPanic()
		}
	}()
	err := l.waitUnlessRejected(ctx, g)
	hasReturned = true
	return err
}

// waitUnlessRejected waits until g has started or is rejected. If ctx has ended
// or the Budget rejects g, it returns at once, before a host is made for g:
// another host might be evicted for it.
func (l *Limiter) waitUnlessRejected(ctx context.Context, g *Grant) error {
	err := ctx.Err()
	isTooLate := err == context.DeadlineExceeded
	if err != nil && !isTooLate {
		return l.canceled(ctx, g, 0, "")
	}
	if why, untilRenewal := l.checkBudget(g); why != schedule.ReasonNone {
		return l.reject(ctx, g, 0, untilRenewal, reasons[why])
	}
	if isTooLate {
		untilStart, why := g.forecast()
		return l.reject(ctx, g, 0, untilStart, reasons[why])
	}
	return l.wait(ctx, g)
}

// prepare sets the fields of g, and appends a Grant for each other Limiter that
// must agree.
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
		switch {
		case *d == Exempt:
			g.request.Exempt = true
			g.request.Overtakes = true
		case *d < 0: // ExemptInTurn
			g.request.Exempt = true
		default:
			g.request.Declared = true
			g.request.CrawlDelay = *d
		}
	}
	if l.globalStage != nil || l.Within != nil {
		return g.appendStages(ctx, u)
	}
	return nil
}

// setDeadline sets how long g may wait: until ctx ends, and no longer than the
// MaxWait of each Limiter of the chain allows. The rules of the schedule reject
// a request that has to wait and cannot start before its deadline. A request
// that can start now is never too late, so with a negative MaxWait, which makes
// the deadline now, only requests that would have to wait are rejected.
func (g *Grant) setDeadline(ctx context.Context) {
	remaining := schedule.Unlimited
	if ctx.Done() != nil { // otherwise it never ends, and its deadline is ignored
		if deadline, ok := ctx.Deadline(); ok {
			remaining = time.Until(deadline)
		}
	}
	allowance := time.Duration(0)
	if g.afterRedirect {
		allowance = g.longestInterval()
	}
	for stage := g; stage != nil; stage = stage.next {
		if wait, ok := stage.limiter.longestWait(allowance); ok {
			remaining = min(remaining, wait)
			g.hasMaxWait = true // of the first stage, whose try checks it for all
		}
	}
	if remaining == schedule.Unlimited {
		return
	}
	for stage := g; stage != nil; stage = stage.next {
		stage.request.Deadline = stage.limiter.now().Add(remaining)
	}
}

// longestWait returns how far from now the deadline of a request is that may
// wait for MaxWait and, in addition, for the allowance. isLimited is false if
// there is no MaxWait.
func (l *Limiter) longestWait(allowance time.Duration) (wait time.Duration, isLimited bool) {
	if l.MaxWait == 0 {
		return 0, false
	}
	wait = schedule.Sum(max(l.MaxWait, 0), allowance)
	if wait > 0 {
		wait = schedule.Sum(wait, 1) // a request at its deadline would be too late
	}
	return wait, true
}

// longestInterval returns the longest interval that g, the first stage of a
// chain, may have to keep at any stage. A request that follows a redirect may
// wait for so long in addition to MaxWait, because the interval of the target's
// host is known only when the request joins its queue.
func (g *Grant) longestInterval() time.Duration {
	longest := g.limiter.effective.host.LongestInterval(g.configuredInterval())
	for stage := g.next; stage != nil; stage = stage.next {
		longest = max(longest, stage.limiter.effective.host.LongestDelay(stage.configuredInterval()))
	}
	return longest
}

// wait returns when g has started or is rejected, or ctx has ended. It checks
// again whether g may start when g is woken, and when readiness.checkIn is
// over.
func (l *Limiter) wait(ctx context.Context, g *Grant) (err error) {
	check := contextCheck(ctx)
	var timer *time.Timer
	var waits waitReasons
	lastEstimate, lastWhy := schedule.Never, schedule.ReasonNone // as the Trace has them
	var v readiness
	for {
		v, err = l.tryChecked(ctx, g, check)
		if err != nil || v.isFinal() {
			break
		}
		waits.changeTo(v.why, l.now())
		if v.estimate != lastEstimate || v.why != lastWhy {
			lastEstimate = v.estimate
			lastWhy = v.why
			l.reportQueued(g, lastEstimate, reasons[lastWhy])
		}
		var alarm <-chan time.Time
		if v.checkIn != schedule.Unlimited {
			if timer == nil {
				timer = time.NewTimer(v.checkIn)
			} else {
				timer.Reset(v.checkIn)
			}
			alarm = timer.C
		}
		select {
		case <-g.wake:
		case <-alarm:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break // v is not final, so finishWait reports how ctx has ended
		}
	}
	if timer != nil {
		timer.Stop()
	}
	return l.finishWait(ctx, g, &v, &waits, err)
}

// tryChecked starts g, if it may start now and check, if there is one, agrees.
func (l *Limiter) tryChecked(ctx context.Context, g *Grant, check func(context.Context) error) (v readiness, err error) {
	g.readLaterSettings()
	if check != nil {
		v = g.checkReady()
		l.reportNotice(g.key, v.notice)
		if !v.ready {
			return v, nil
		}
		err = g.runCheck(ctx, check)
		if err != nil {
			return v, err
		}
	}
	v = g.startIfReady() // after a check, g may have to wait again
	l.reportNotice(g.key, v.notice)
	return v, nil
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
		g.host.ExpectRejoin(&g.request)
	}
	l.mu.Unlock()
	g.leave(false)
}

// finishWait reports how g's wait has ended, and returns its error. failed is
// the error of g's check.
func (l *Limiter) finishWait(ctx context.Context, g *Grant, v *readiness, waits *waitReasons, failed error) error {
	var waited time.Duration
	var why Reason
	if waits.hasBegun() { // otherwise the clock need not be read
		waited, why = waits.end(l.now())
	}
	switch {
	case failed != nil:
		l.reportCanceled(ctx, g, waited, why)
		return failed
	case v.ready:
		l.reportGranted(ctx, g, &v.inForce, waited, why)
		return nil
	case v.rejected:
		return l.reject(ctx, g, waited, v.retryIn, reasons[v.why])
	case ctx.Err() == context.DeadlineExceeded:
		return l.reject(ctx, g, waited, g.leave(true), reasons[v.why])
	}
	return l.canceled(ctx, g, waited, why)
}

// reject reports that g, which is in no queue any more, is rejected, and
// returns its DelayError. waited is how long g has waited, and retryIn is how
// long the caller should wait before it retries.
func (l *Limiter) reject(ctx context.Context, g *Grant, waited, retryIn time.Duration, why Reason) error {
	err := &DelayError{Host: g.key, Until: at(retryIn), Reason: why, Err: l.blockedBy(g.key)}
	l.reportRejected(ctx, g, waited, err.Until, why)
	return err
}

// blockedBy returns why the fleet delays requests to the host with this key. It
// returns nil if they wait only for their time.
func (l *Limiter) blockedBy(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts.Get(key); h != nil && h.Claim != nil && !h.Claim.Owned {
		return claim(h).blockedBy
	}
	return nil
}

// canceled removes g from every queue because its context has been canceled,
// and returns the error. why is the reason of the longest wait.
func (l *Limiter) canceled(ctx context.Context, g *Grant, waited time.Duration, why Reason) error {
	g.leave(false)
	l.reportCanceled(ctx, g, waited, why)
	return &cancelError{g.key, ctx.Err(), context.Cause(ctx)}
}

// cancelAfterPanic removes g from every queue and frees its slot, because a
// callback has panicked.
func (g *Grant) cancelAfterPanic() {
	g.leave(false)
	g.limiter.mu.Lock()
	hasStarted := g.state == inFlight
	g.limiter.mu.Unlock()
	if hasStarted {
		g.Done(Outcome{})
	}
}

// Next returns the earliest time at which a request to u's host could start if
// it were made now. If it could start at once, Next returns the present time.
// The true time may be later, because Next ignores GlobalRate and assumes that
// slots will be free in time. A scheduler can sort its hosts by the result.
// Next takes no slot and does not wait, but a Key that looks names up, such as
// [IPKey], may take some time. A URL without a usable host, which Acquire would
// reject, is due at once.
func (l *Limiter) Next(u *url.URL) time.Time {
	g := new(Grant)
	if err := l.prepare(context.Background(), u, g); err != nil {
		return time.Now()
	}
	for stage := g; stage != nil; stage = stage.next {
		stage.readSettings()
	}
	_, untilRenewal := l.checkBudget(g) // only the first Limiter has a Budget
	return at(max(g.untilStart(), untilRenewal))
}
