package politeness

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// An attempt is a request from its grant to its body's end. It is the context that
// the request is made with: the caller's, which ends after the timeout too, and
// with the attempt.
//
// It is none of package context's, because each of theirs that has a deadline has a
// timer, and this is made for each page of a crawl. For that reason, too, all that
// an attempt needs is in one piece; so a body that nobody closes is kept for as long
// as its slot.
type attempt struct {
	context.Context // the caller's, and a trace
	grant           Grant
	body            body        // of the response
	left            func() bool // stops waiting for the caller's context; nil: that never ends
	switched        bool        // to another protocol: no longer timed

	watch      *watch // nil: it has all the time
	timeout    time.Duration
	deadline   time.Time
	prev, next *attempt // guarded by watch.mu; nil: no longer watched

	mu     sync.Mutex
	err    error         // why the context ended; nil: it has not
	late   bool          // that was the timeout
	done   chan struct{} // nil: nobody has asked for it
	ending *ending       // what is to be done when it ends
}

// An ending is what AfterFunc has been asked to call.
type ending struct {
	f    func()
	next *ending
}

// begin lets the attempt begin, for which its grant has just been given, and
// returns the time.
func (t *Transport) begin(ctx context.Context, a *attempt) time.Time {
	grant := &a.grant
	a.Context, a.timeout = ctx, orDefault(t.AttemptTimeout, 30*time.Second, 0)
	if grant.isPaced() {
		// The interval counts from when the host can feel the request.
		a.Context = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GetConn:      func(string) { grant.sent() },
			WroteHeaders: grant.sent,
		})
	}
	if a.timeout > 0 {
		grant.keep(a.timeout)
		t.watched.Do(func() { t.watch = new(watch) })
		a.watch = t.watch
	}
	// An abandoned body must not keep the slot: whoever ends the context frees it.
	if grant.ends {
		a.left = context.AfterFunc(ctx, a.leave)
	}
	if a.watch == nil {
		return time.Now()
	}
	return a.watch.begin(a) // last: it may be over at once
}

// Deadline is when the attempt has to be over.
func (a *attempt) Deadline() (time.Time, bool) {
	d, ok := a.Context.Deadline()
	if a.watch == nil || ok && d.Before(a.deadline) {
		return d, ok
	}
	return a.deadline, true
}

func (a *attempt) Done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done == nil {
		a.done = make(chan struct{})
		if a.err != nil {
			close(a.done)
		}
	}
	return a.done
}

func (a *attempt) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// AfterFunc is what package context calls for a context that derives from the
// attempt, in place of a goroutine that waits for Done.
func (a *attempt) AfterFunc(f func()) (stop func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		go f()
		return func() bool { return false }
	}
	e := &ending{f, a.ending}
	a.ending = e
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for at := &a.ending; *at != nil; at = &(*at).next {
			if *at == e {
				*at, e.next = e.next, nil
				return true
			}
		}
		return false
	}
}

// cancel ends the context. Only the first call counts.
func (a *attempt) cancel(err error, late bool) {
	a.mu.Lock()
	if a.err != nil {
		a.mu.Unlock()
		return
	}
	a.err, a.late = err, late
	if a.done != nil {
		close(a.done)
	}
	e := a.ending
	a.ending = nil
	a.mu.Unlock()
	for ; e != nil; e = e.next {
		e.f() // of package context, which starts a goroutine for what may take long
	}
}

// timeOut is what happens when the attempt's time is over.
func (a *attempt) timeOut() {
	a.cancel(context.DeadlineExceeded, true)
	if a.left != nil {
		a.left() // a body may never be closed, and the caller's context live for long
	}
	a.grant.Done(Outcome{})
}

// leave is what happens when the caller's context ends.
func (a *attempt) leave() {
	a.cancel(a.Context.Err(), false)
	if a.watch != nil {
		a.watch.end(a)
	}
	a.grant.Done(Outcome{})
}

// end frees the slot and what the attempt holds.
func (a *attempt) end(o Outcome) {
	if a.watch != nil {
		a.watch.end(a)
	}
	if a.left != nil {
		a.left()
	}
	a.grant.Done(o)
	a.cancel(context.Canceled, false)
}

// explain says that err came of AttemptTimeout, if it did.
func (a *attempt) explain(err error) error {
	switch {
	case a.switched || !a.timedOut():
		return err
	case err == context.DeadlineExceeded:
		return &timeoutError{after: a.timeout} // which says that
	}
	return &timeoutError{a.timeout, err}
}

func (a *attempt) timedOut() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.late
}
