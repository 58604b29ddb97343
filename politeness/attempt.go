package politeness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
)

// An attempt is one request, from its grant to the end of its response's body.
type attempt struct {
	grant    Grant
	caller   context.Context // the context of the caller's request
	ctx      context.Context // of the request that is sent: derives from caller, ends with the attempt
	cancel   context.CancelFunc
	timeout  time.Duration // AttemptTimeout; 0 means none
	wire     wire
	body     body
	openBody openBody    // what other requests need to know about body
	answered atomic.Bool // Base has returned a response
	switched bool        // the server switched protocols, so the body has no timeout

	// stopRelease keeps the end of ctx from freeing the slot.
	stopRelease func() bool
}

// begin starts an attempt to send u, whose grant has just been given. Whatever
// ends the attempt's context also frees its slot, even if the body is
// never closed.
func (a *attempt) begin(caller context.Context, u *url.URL, timeout time.Duration) {
	a.caller = caller
	a.timeout = timeout
	var ctx context.Context
	if timeout > 0 {
		a.grant.prolong(timeout)
		ctx, a.cancel = context.WithTimeout(caller, timeout)
	} else {
		ctx, a.cancel = context.WithCancel(caller)
	}
	a.stopRelease = context.AfterFunc(ctx, func() { a.endWithContext(ctx.Err()) })
	a.ctx = a.wire.watch(ctx, u, &a.grant, a.cancel)
}

// endWithContext frees the slot, because the attempt's context has ended with
// err. If there was no response yet, Base is about to fail for this reason, so
// the outcome is the same as if Base had failed first.
func (a *attempt) endWithContext(err error) {
	o := Outcome{}
	if !a.answered.Load() {
		o = a.failure(err)
	}
	a.grant.done(a.caller, o)
}

// failure returns the outcome of an attempt that has ended now with err,
// without a response. The response would have taken at least as long.
func (a *attempt) failure(err error) Outcome { return Outcome{Latency: a.latency(), Err: err} }

// latency returns the time since the start, or 0 if nothing uses it.
func (a *attempt) latency() time.Duration {
	l := a.grant.limiter
	if l.Adaptive == 0 {
		return 0
	}
	return l.now().Sub(a.grant.request.PhaseStart)
}

// end ends the attempt with outcome o, and frees the slot. The attempt ends
// even if an Observer panics. Only the first call has an effect.
func (a *attempt) end(o Outcome) {
	defer a.cancel()
	a.stopRelease()
	a.grant.done(a.caller, o)
}

// endAfterFailure ends the attempt, because Base or an Observer has failed or
// panicked. The response resp, which the caller does not get, may be nil.
func (a *attempt) endAfterFailure(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		a.closeEarly(resp.Body, Outcome{})
		return
	}
	a.end(Outcome{})
}

// closeEarly ends the attempt and closes its response's body, which has not
// been read to its end. The slot is freed afterwards, so that the next request
// to the host does not overlap with this one, but no later than AttemptTimeout:
// with HTTP/2, Close may block for as long as the server reads nothing.
func (a *attempt) closeEarly(body io.Closer, o Outcome) error {
	// httputil.CloseEarly, below, cancels a.ctx before it closes the body.
	// Without stopRelease, that would free the slot too early (see begin). The
	// deadline of a.ctx, which frees the slot too, is set again here.
	a.stopRelease()
	if deadline, ok := a.ctx.Deadline(); ok {
		// A stopped timer would keep the attempt in memory for a while. A
		// context keeps only itself.
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { a.grant.done(a.caller, o) })
		defer stop()
	}
	defer a.grant.done(a.caller, o)
	return httputil.CloseEarly(a.cancel, body)
}

// explain returns the error for the caller, given one of Base. It names
// AttemptTimeout if that has ended the attempt.
func (a *attempt) explain(err error) error {
	if ended := a.wire.failure(); ended != nil {
		return ended
	}
	if !a.isTimedOut() {
		return err
	}
	if err == context.DeadlineExceeded {
		return &timeoutError{after: a.timeout} // err would add nothing to the message
	}
	return &timeoutError{a.timeout, err}
}

// isTimedOut reports whether AttemptTimeout has ended the attempt.
func (a *attempt) isTimedOut() bool {
	return !a.switched && a.ctx.Err() == context.DeadlineExceeded && a.caller.Err() == nil
}

// body wraps a response's body. The attempt ends when the body is closed, or
// when a Read returns io.EOF or another error. The attempt of a robots.txt ends
// only when the body is closed, because the caller puts the rules in force
// after the last Read and before Close. Otherwise a page that the new rules
// disallow could start meanwhile.
type body struct {
	io.ReadCloser
	attempt *attempt
	ended   atomic.Bool // a Read has ended the attempt
}

// wrap returns a body that reads resp.Body and ends the attempt. If the body of
// a 101 (Switching Protocols) is writable, the result is writable too.
func (a *attempt) wrap(resp *http.Response) io.ReadCloser {
	b := &a.body
	b.ReadCloser = resp.Body
	b.attempt = a
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
	b.attempt.grant.spendBytes(n)
	if err == nil {
		return n, nil
	}
	if err != io.EOF {
		err = b.attempt.explain(err)
	}
	if !b.attempt.grant.request.Exempt {
		b.attempt.end(Outcome{})
		b.ended.Store(true)
	}
	return n, err
}

func (b *body) Close() error {
	if b.ended.Load() {
		return b.ReadCloser.Close()
	}
	return b.attempt.closeEarly(b.ReadCloser, Outcome{})
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
