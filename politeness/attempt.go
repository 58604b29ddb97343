package politeness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// An attempt is a request from its grant to its body's end. It is the context
// that the request is made with: the caller's, which ends after the timeout
// too, and with the attempt.
//
// It is none of package context's, because each of theirs that has a deadline
// has a timer, and this is made for each page of a crawl. For that reason, too,
// all that an attempt needs is in one piece; so a body that nobody closes is
// kept for as long as its slot.
type attempt struct {
	context.Context // the caller's
	grant           Grant
	wire            wire        // of an attempt that is paced
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
	again  bool          // that was a replay, before it was sent
	done   chan struct{} // nil: nobody has asked for it
	ending *ending       // what is to be done when it ends
	first  struct {      // the first of them: net/http has one
		ending
		taken bool // once and for all: who asked for it may stop it twice
	}
}

// An ending is what AfterFunc has been asked to call.
type ending struct {
	f    func()
	next *ending
}

// Deadline is when the attempt has to be over.
func (a *attempt) Deadline() (time.Time, bool) {
	d, ok := a.Context.Deadline()
	if a.watch == nil || ok && d.Before(a.deadline) {
		return d, ok
	}
	return a.deadline, true
}

// Value has the hooks of an attempt that is paced.
func (a *attempt) Value(key any) any {
	if a.wire.attempt != nil && key == clientTraceKey {
		return &a.wire.trace
	}
	return a.Context.Value(key)
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
	e := &a.first.ending
	if a.first.taken {
		e = new(ending)
	}
	a.first.taken = true
	e.f, e.next = f, a.ending
	a.ending = e
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for at := &a.ending; *at != nil; at = &(*at).next {
			if *at == e {
				*at, e.f, e.next = e.next, nil, nil
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
		e.f = nil
	}
}

// endReplay ends the context of an attempt that net/http is about to send
// again.
func (a *attempt) endReplay() {
	a.mu.Lock()
	a.again = a.again || a.err == nil
	a.mu.Unlock()
	a.cancel(context.Canceled, false)
}

// isReplay reports whether the attempt ended because it would have been sent
// again.
func (a *attempt) isReplay() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.again
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
	a.grant.done(a.Context, o)
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

// A watch ends the attempts of a Transport that take too long. All of them may
// take the same time, so they are over in the order in which they began, and
// one timer, set for the first, serves them all. A timer for each would cost
// more than everything else that a Transport does: a new first timer wakes a
// thread.
type watch struct {
	mu    sync.Mutex
	first *attempt // the oldest; attempt.next and prev are a circular list
	set   bool     // the timer is; it may be for an attempt that is over
}

// begin adds an attempt, whose time begins now.
func (w *watch) begin(a *attempt) (now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = time.Now() // under the lock, for the order
	a.deadline = now.Add(a.timeout)
	if w.first == nil {
		a.prev, a.next = a, a
		w.first = a
	} else {
		a.prev, a.next = w.first.prev, w.first
		a.prev.next, a.next.prev = a, a
	}
	if !w.set {
		w.set = true
		time.AfterFunc(a.timeout, w.look)
	}
	return now
}

// end takes an attempt out, if it is still there.
func (w *watch) end(a *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(a)
}

func (w *watch) remove(a *attempt) {
	switch {
	case a.next == nil:
		return
	case a.next == a:
		w.first = nil
	default:
		a.prev.next, a.next.prev = a.next, a.prev
		if w.first == a {
			w.first = a.next
		}
	}
	a.prev, a.next = nil, nil
}

// look ends those whose time is over and waits for the next one's.
func (w *watch) look() {
	for _, a := range w.over() {
		a.timeOut()
	}
}

func (w *watch) over() (late []*attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for a := w.first; a != nil; a = w.first {
		if left := a.deadline.Sub(now); left > 0 {
			time.AfterFunc(left, w.look)
			return late
		}
		w.remove(a)
		late = append(late, a)
	}
	w.set = false
	return late
}

// body is a response's body, whose end ends the attempt.
type body struct {
	io.ReadCloser
	attempt *attempt
	ended   atomic.Bool // the attempt, by what was read
}

// wrap returns resp's body such that its end frees the slot. What was written
// to before (101 Switching Protocols) still can be.
func (a *attempt) wrap(resp *http.Response) io.ReadCloser {
	b := &a.body
	b.ReadCloser, b.attempt = resp.Body, a
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if w, ok := resp.Body.(io.Writer); ok {
			a.switched = true
			return &writableBody{b, w}
		}
	}
	return b
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.attempt.grant.read(n)
	if err != nil {
		if err != io.EOF {
			err = b.attempt.explain(err)
		}
		b.attempt.end(Outcome{})
		b.ended.Store(true)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	if !b.ended.Load() {
		b.attempt.end(Outcome{})
	}
	return err
}

// writableBody is the body of a 101: the connection itself.
type writableBody struct {
	*body
	io.Writer
}

// CloseWrite ends the writing alone, where the connection can do that.
func (b *writableBody) CloseWrite() error {
	if c, ok := b.ReadCloser.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("politeness: CloseWrite: %w", errors.ErrUnsupported)
}
