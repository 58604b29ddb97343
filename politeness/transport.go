package politeness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// A Transport is an http.RoundTripper that paces the requests to each host. Put
// it innermost, around the http.Transport, so that retries, redirects and the
// fetches of robots.txt all keep the pace.
//
// A request holds its host's slot until the response's body has been read to
// its end or closed, until it fails, its context ends or AttemptTimeout is
// over. So close every body: one that is left open delays its host, and a
// request that waits for nothing else says so in the log once, with the URL.
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
	// protocol (101) is no longer timed, only its slot is freed. One that is
	// switched though the request has no Upgrade is an error.
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
// http.Client.CloseIdleConnections needs it.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip waits until the request's host may be asked and makes the request.
// Its errors are those of [Limiter.Acquire] and of Base. A request that names
// no host is none of politeness's business and goes straight to Base. One whose
// target (URL.Opaque, in absolute form) names another host than its URL, or its
// Host header, is an error, for it would go there at this one's pace.
//
// Where net/http would send the request a second time by itself, because the
// server closed a connection or refused an HTTP/2 stream without an answer,
// that is a request like any other: it waits for its host, and Base makes it
// anew.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Host == "" {
		return t.base().RoundTrip(req)
	}
	if err := checkTarget(req); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	sent := req
	for range maxReplays + 1 {
		a := new(attempt)
		if err := t.limiter().acquire(req.Context(), req.URL, &a.grant); err != nil {
			if sent.Body != nil {
				sent.Body.Close() // the RoundTripper contract: also on errors
			}
			return nil, err
		}
		if ctx := req.Context(); ctx.Err() != nil { // whoever was told of the grant has ended it
			if sent.Body != nil {
				sent.Body.Close()
			}
			a.grant.Done(Outcome{})
			return nil, &cancelError{a.grant.key, ctx.Err(), context.Cause(ctx)}
		}
		resp, err := t.try(a, req, sent)
		if err == nil || !canReplay(req) || !a.isReplay() {
			return resp, err
		}
		if sent, err = replay(req); err != nil {
			return nil, err
		}
	}
	if sent.Body != nil {
		sent.Body.Close()
	}
	return nil, &replayError{req.URL.Host}
}

// begin lets the attempt begin, for which its grant has just been given, and
// returns the time.
func (t *Transport) begin(ctx context.Context, a *attempt) time.Time {
	grant := &a.grant
	a.Context, a.timeout = ctx, orDefault(t.AttemptTimeout, 30*time.Second, 0)
	if grant.isPaced() {
		a.wire.attempt, a.wire.plainH2 = a, sendsPlainHTTP2(t.base())
		a.Context = a.wire.hook(ctx)
	}
	if a.timeout > 0 {
		grant.keep(a.timeout)
		t.watched.Do(func() { t.watch = new(watch) })
		a.watch = t.watch
	}
	// An abandoned body must not keep the slot: whoever ends the context frees
	// it.
	if grant.ends {
		a.left = context.AfterFunc(ctx, a.leave)
	}
	if a.watch == nil {
		return time.Now()
	}
	return a.watch.begin(a) // last: it may be over at once
}

// try makes one request, which is req with a body that can be read, and sees to
// it that its slot is freed.
func (t *Transport) try(a *attempt, req, fresh *http.Request) (resp *http.Response, err error) {
	start := t.begin(req.Context(), a)
	defer func() {
		if resp == nil { // Base failed, or panicked
			a.end(Outcome{})
		}
	}()
	sent := fresh.WithContext(a)
	resp, err = t.base().RoundTrip(sent)
	var latency time.Duration
	if a.grant.limiter.Adaptive.Factor > 0 { // else nobody wants to know
		latency = time.Since(start)
	}
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
	if resp.StatusCode == http.StatusSwitchingProtocols && len(req.Header["Upgrade"]) == 0 {
		if resp.Body != nil {
			resp.Body.Close()
		}
		a.end(outcome)
		return nil, fmt.Errorf("politeness: %.253s switched to another protocol (101), which nobody asked for: no page can be read there", req.URL.Host)
	}
	if resp.Body == nil || resp.Body == http.NoBody {
		a.end(outcome)
		return resp, nil
	}
	a.grant.answered(req.Context(), outcome, req.URL)
	resp.Body = a.wrap(resp)
	return resp, nil
}
