package politeness

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// A Transport is an http.RoundTripper that paces the requests to each host. Put
// it innermost, around the http.Transport, so that retries, redirects and the
// fetches of robots.txt all keep the pace.
//
// A request holds its host's slot until the response's body has been read to its
// end or closed, until it fails, its context ends or AttemptTimeout is over. So
// close every body: one that is left open delays its host, and a request that
// waits for nothing else says so in the log once, with the URL.
//
// Transport changes neither the request nor the response, but for wrapping the
// response's Body. It must not be copied, nor its fields be changed, after its
// first use.
type Transport struct {
	// Base makes the requests. nil: http.DefaultTransport.
	Base http.RoundTripper

	// Limiter sets the pace. nil: a zero Limiter of this Transport's own.
	Limiter *Limiter

	// AttemptTimeout limits each request from after its wait to its body's end.
	// http.Client.Timeout cannot do that: it counts the wait too, so a client
	// with a short one is refused with a DelayError by every busy host.
	// 0: 30 s. Negative: none. A connection that was switched to another
	// protocol (101) is no longer timed, only its slot is freed.
	AttemptTimeout time.Duration

	own     Limiter
	watched sync.Once
	watch   *watch // a thing apart, because its timer must not keep the Transport
}

func (t *Transport) limiter() *Limiter {
	if t.Limiter != nil {
		return t.Limiter
	}
	return &t.own
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

// CloseIdleConnections passes the call on to Base, if that has the method.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip waits until the request's host may be asked and makes the request.
// Its errors are those of [Limiter.Acquire] and of Base. A request that names no
// host is none of politeness's business and goes straight to Base.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Host == "" {
		return t.base().RoundTrip(req)
	}
	grant, err := t.limiter().Acquire(req.Context(), req.URL)
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // the RoundTripper contract: also on errors
		}
		return nil, err
	}
	return t.attempt(req, grant)
}

// attempt makes one request and sees to it that its slot is freed.
func (t *Transport) attempt(req *http.Request, grant *Grant) (resp *http.Response, err error) {
	a := t.newAttempt(req.Context(), grant)
	defer func() {
		if resp == nil { // Base failed, or panicked
			a.end(Outcome{})
		}
	}()
	sent := req.WithContext(a)
	start := time.Now()
	resp, err = t.base().RoundTrip(sent)
	latency := time.Since(start)
	if err != nil {
		err = a.explain(err)
		a.end(Outcome{Latency: latency, Err: err})
		return nil, err
	}
	if resp == nil {
		return nil, errors.New("politeness: Base returned neither a response nor an error")
	}
	if resp.Request == sent {
		// The attempt's context ends with the body; the caller's lives on.
		resp.Request = req
	}
	outcome := Outcome{Status: resp.StatusCode, Header: resp.Header, Latency: latency}
	if resp.Body == nil || resp.Body == http.NoBody {
		a.end(outcome)
		return resp, nil
	}
	grant.answered(outcome, req.URL)
	resp.Body = a.wrap(resp)
	return resp, nil
}

// An attempt is a request from its grant to its body's end. It is the context
// that the request is made with.
type attempt struct {
	context.Context                 // the caller's, and a trace
	life            context.Context // ends with the caller's, after the timeout, and with the attempt
	cancel          context.CancelCauseFunc
	grant           *Grant
	left            func() bool // stops waiting for the caller's context; nil: that never ends
	switched        bool        // to another protocol: no longer timed

	watch      *watch // nil: it has all the time
	timeout    timeoutError
	late       atomic.Pointer[context.Context] // set after the timeout: has that as its cause
	deadline   time.Time
	prev, next *attempt // guarded by watch.mu; nil: no longer watched
}

func (t *Transport) newAttempt(ctx context.Context, grant *Grant) *attempt {
	a := &attempt{Context: ctx, grant: grant}
	a.life, a.cancel = context.WithCancelCause(ctx)
	if grant.isPaced() {
		// The interval counts from when the host can feel the request.
		a.Context = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GetConn:      func(string) { grant.sent() },
			WroteHeaders: grant.sent,
		})
	}
	timeout := orDefault(t.AttemptTimeout, 30*time.Second, 0)
	if timeout > 0 {
		t.watched.Do(func() { t.watch = new(watch) })
		a.watch = t.watch
	}
	// An abandoned body must not keep the slot: whoever ends the context frees it.
	if ctx.Done() != nil {
		a.left = context.AfterFunc(ctx, a.leave)
	}
	if timeout > 0 {
		grant.keep(timeout)
		a.timeout.after = timeout
		a.watch.begin(a, timeout) // last: it may be over at once
	}
	return a
}

// Deadline is when the attempt has to be over.
func (a *attempt) Deadline() (time.Time, bool) {
	d, ok := a.Context.Deadline()
	if a.deadline.IsZero() || ok && d.Before(a.deadline) {
		return d, ok
	}
	return a.deadline, true
}

func (a *attempt) Done() <-chan struct{} { return a.life.Done() }

// Err is nil until the context ends.
func (a *attempt) Err() error {
	err := a.life.Err()
	if err != nil && a.timedOut() {
		return context.DeadlineExceeded
	}
	return err
}

// Value hides life from contexts that derive from the attempt. They would be
// ended by it, with its error, which is Canceled after the timeout too; so they
// are ended by AfterFunc, with Err's.
func (a *attempt) Value(key any) any {
	if late := a.late.Load(); late != nil {
		return (*late).Value(key)
	}
	return a.Context.Value(key)
}

// AfterFunc is what package context calls in place of waiting for Done.
func (a *attempt) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(a.life, f) }

func (a *attempt) timeOut() {
	late, cancel := context.WithCancelCause(a.Context)
	cancel(&a.timeout)
	a.late.Store(&late)
	a.cancel(&a.timeout)
	if a.left != nil {
		a.left() // a body may never be closed, and the caller's context live for long
	}
	a.grant.Done(Outcome{})
}

func (a *attempt) timedOut() bool { return context.Cause(a.life) == error(&a.timeout) }

// leave is what happens when the caller's context ends.
func (a *attempt) leave() {
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
	a.cancel(nil)
}

// explain says that err came of AttemptTimeout, if it did and does not say so.
func (a *attempt) explain(err error) error {
	if !a.timedOut() || a.switched || err == io.EOF || errors.Is(err, &a.timeout) {
		return err
	}
	return &timeoutError{a.timeout.after, err}
}
