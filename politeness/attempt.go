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

// An attempt is one request, from its grant to the end of its response's body.
// It is also the context of that request. This context derives from the
// caller's context, and ends when the attempt is over or its timeout has
// passed.
//
// An attempt keeps its own deadline. context.WithDeadline would make a timer
// for each attempt. That costs too much, because each page of a crawl is an
// attempt. All parts of an attempt are in one allocation, which saves time too.
// The price is that an unclosed body keeps the whole attempt in memory, until
// the attempt's slot is freed.
type attempt struct {
	context.Context // the caller's context
	grant           Grant
	wire            wire        // unset if the attempt is not paced
	body            body        // the response's body
	left            func() bool // stops watching the caller's context; nil means that context never ends
	switched        bool        // the server switched protocols, so the body has no timeout

	watch      *watch // nil means no timeout
	timeout    time.Duration
	deadline   time.Time
	prev, next *attempt // guarded by watch.mu; nil means the attempt is not in the watch

	mu     sync.Mutex
	err    error         // why the context ended; nil means the context has not ended
	late   bool          // the timeout ended the context
	again  bool          // the context ended because net/http was about to send the request again
	done   chan struct{} // nil means nobody has called Done
	ending *ending       // the functions to call at the end
	first  struct {      // for the first call of AfterFunc; net/http calls AfterFunc only once
		ending
		// taken is set at the first call and stays set. If a later call used
		// attempt.first again, the stop() of the first call could remove the
		// later function.
		taken bool
	}
}

// An ending is a function that was passed to AfterFunc.
type ending struct {
	f    func()
	next *ending
}

// Deadline returns the attempt's own deadline or the caller's, whichever is
// earlier. Either may be missing.
func (a *attempt) Deadline() (time.Time, bool) {
	d, ok := a.Context.Deadline()
	if a.watch == nil || ok && d.Before(a.deadline) {
		return d, ok
	}
	return a.deadline, true
}

// Value returns the attempt's trace hooks if the attempt is paced and key is
// clientTraceKey. Otherwise it returns the value in the caller's context.
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

// AfterFunc calls f when the attempt ends. Package context calls AfterFunc for
// each context that derives from the attempt. Without this method, package
// context would start a goroutine that waits for Done.
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
		e.f() // does not block: package context starts a goroutine for anything slow
		e.f = nil
	}
}

// endReplay ends the attempt's context because net/http is about to send the
// request again.
func (a *attempt) endReplay() {
	a.mu.Lock()
	a.again = a.again || a.err == nil
	a.mu.Unlock()
	a.cancel(context.Canceled, false)
}

// isReplay reports whether endReplay ended the attempt.
func (a *attempt) isReplay() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.again
}

// timeOut ends the attempt when its time is over.
func (a *attempt) timeOut() {
	a.cancel(context.DeadlineExceeded, true)
	if a.left != nil {
		a.left() // otherwise the caller's context would keep the attempt in memory
	}
	a.grant.Done(Outcome{})
}

// leave ends the attempt when the caller's context ends.
func (a *attempt) leave() {
	a.cancel(a.Context.Err(), false)
	if a.watch != nil {
		a.watch.end(a)
	}
	a.grant.Done(Outcome{})
}

// end ends the attempt with outcome o, and frees the slot.
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

// explain returns an error that names AttemptTimeout if the timeout has ended
// the attempt. Otherwise it returns err.
func (a *attempt) explain(err error) error {
	switch {
	case a.switched || !a.timedOut():
		return err
	case err == context.DeadlineExceeded:
		return &timeoutError{after: a.timeout} // err would add nothing to the message
	}
	return &timeoutError{a.timeout, err}
}

func (a *attempt) timedOut() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.late
}

// A watch ends the attempts of a Transport at their timeouts. All attempts have
// the same timeout, so they time out in the order in which they began, and one
// timer for the oldest attempt is enough. A timer for each attempt would cost
// more than all other work of a Transport, because setting a timer that is
// earlier than all others wakes a thread.
type watch struct {
	mu    sync.Mutex
	first *attempt // the oldest; all attempts are linked into a ring
	set   bool     // a timer is set, perhaps for an attempt that has ended
}

// begin adds an attempt, sets its deadline and returns the present time.
func (w *watch) begin(a *attempt) (now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = time.Now() // taken under the lock, so that the ring is in the order of deadlines
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

// end removes an attempt if it is still in the watch.
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

// look ends the attempts whose time is over, and sets the timer for the oldest
// of the others.
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

// body wraps a response's body. The attempt ends when the body is closed, or
// when a Read returns io.EOF or another error.
type body struct {
	io.ReadCloser
	attempt *attempt
	ended   atomic.Bool // a Read has ended the attempt
	clean   bool        // signOf found no refusal in the status and header
}

// wrap returns a body that reads resp.Body and ends the attempt. If the body of
// a 101 (Switching Protocols) is writable, the result is writable too.
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

// NoRefusal reports whether package refusal has examined the response's status
// and header and found no refusal. A robotsmw.Transport calls NoRefusal, so
// that it need not examine them again.
func (b *body) NoRefusal() bool { return b.clean }

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

// writableBody is the body of a response with status 101. This body is the
// connection itself, so the caller can write to it too.
type writableBody struct {
	*body
	io.Writer
}

// CloseWrite closes the writing side if the connection can do that.
func (b *writableBody) CloseWrite() error {
	if c, ok := b.ReadCloser.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("politeness: CloseWrite: %w", errors.ErrUnsupported)
}
