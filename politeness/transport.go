package politeness

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
)

// A Transport is an http.RoundTripper that delays the requests to each host. It
// should be the innermost one, around the http.Transport, so that retries,
// redirects and fetches of robots.txt all wait for their host. It returns each
// response, also one with status 429 or 503, and does not retry it.
//
// A request holds its host's slot until the response's body has been read to
// its end (except for an [Exempt] request) or closed, until the request fails,
// or until its context or AttemptTimeout ends. Callers should close every body,
// because an open body delays the other requests to its host, and with
// Limiter.Within to all hosts that have the same key there. If a request waits
// 5 s for the slot of an open body, a warning with the body's URL is logged
// once, even if the body is being read.
//
// An interval counts from the time when a request's header is sent. If its host
// has an interval, no other request to the host starts before that, even if
// Concurrency allows it. With Limiter.Within, the same applies there to all
// hosts that have the same key. If Base does not report that time through
// httptrace, the interval counts from the time when the request was granted.
//
// A host with non-ASCII letters is sent as [HostKey] names it, because
// http.Transport may otherwise connect to it repeatedly, without limit.
//
// Transport changes neither the request nor the response, except that it wraps
// the response's Body. After its first use, a Transport must not be copied and
// its fields must not be changed.
type Transport struct {
	// Base makes the requests. nil means http.DefaultTransport.
	Base http.RoundTripper

	// Limiter decides when requests start. nil means a zero Limiter that
	// belongs to this Transport.
	Limiter *Limiter

	// AttemptTimeout limits each request, from the end of its wait to the end
	// of its body. http.Client.Timeout cannot do that, because it includes the
	// wait: with a short Timeout, requests to a busy host fail with a
	// DelayError. 0 means [DefaultAttemptTimeout], 30 s. Negative means no
	// limit: the slot is then freed after Limiter.Lease at the latest. After a
	// switch to another protocol (101), the connection may stay open for
	// longer, but its slot is freed after AttemptTimeout. If the request has no
	// Upgrade field, a switch is an error.
	AttemptTimeout time.Duration

	own Limiter
}

func (t *Transport) limiter() *Limiter { return cmp.Or(t.Limiter, &t.own) }

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

// CloseIdleConnections closes the idle connections of Base, if Base can do
// that. http.Client.CloseIdleConnections calls this method.
func (t *Transport) CloseIdleConnections() {
	httputil.CloseIdleConnections(t.base())
}

// Validate returns the error of [Limiter.Validate] for the Transport's Limiter.
// If the Limiter is valid and Base has a method Validate() error, as a
// webbotauth.Transport and another Transport have, Validate returns the error
// of that method. Otherwise it returns nil. NewClient, NewTransport and
// NewChecker of package robotsmw return the error of Validate for a Transport
// that is Options.Base.
//
// Validate starts nothing and changes nothing. It is safe for concurrent use.
func (t *Transport) Validate() error {
	if err := t.limiter().Validate(); err != nil {
		return err
	}
	return httputil.Validate(t.Base)
}

// RoundTrip waits until the request's host is due and makes the request. It
// returns the errors of [Limiter.Acquire] and of Base, and some of its own. A
// request without a host goes straight to Base. If Base is an http.Transport
// that sends the request to an HTTP proxy in plain text, the request's host is
// that of its Host header, because the proxy contacts that host. To find that
// out, RoundTrip calls Base.Proxy for a request whose Host header and URL name
// different hosts.
//
// It is an error if the request's target (URL.Opaque, in absolute form) names
// neither the host of the URL nor that of the Host header. Such a request would
// reach the target's host with another host's delay.
//
// If the server refuses an HTTP/2 stream, or closes a connection before it
// responds, net/http may send the request again by itself. RoundTrip prevents
// this and makes a new request instead, which waits for the host. RoundTrip
// does so up to six times.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Host == "" {
		return t.base().RoundTrip(req)
	}
	if err := checkTarget(req); err != nil {
		closeBody(req)
		return nil, err
	}
	toSend := req // the request to send: req or, for a replay, a copy with a new body
	for range maxReplays + 1 {
		a := new(attempt)
		a.grant.afterRedirect = req.Response != nil
		if err := t.limiter().acquire(req.Context(), scheduledURL(t.base(), req), &a.grant); err != nil {
			closeBody(toSend)
			return nil, err
		}
		resp, err := t.send(a, req, toSend)
		mustReplay := err != nil && a.wire.hasStoppedReplay() && canReplay(req)
		if !mustReplay {
			return resp, err
		}
		toSend, err = withNewBody(req)
		if err != nil {
			return nil, err
		}
	}
	closeBody(toSend)
	return nil, &replayError{req.URL.Host}
}

// closeBody closes the body of a request that is not sent. A RoundTripper must
// close the body even if it returns an error.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// send makes one request, which the Limiter has let start, and makes sure that
// the slot is freed. toSend is req with a body that has not been read.
func (t *Transport) send(a *attempt, req, toSend *http.Request) (resp *http.Response, err error) {
	// u is the URL to send, with the name of the host as HostKey has it. Behind
	// a proxy, the URL that was passed to acquire may name another host: see
	// scheduledURL.
	u := CanonicalURL(req.URL)
	a.begin(req.Context(), u, orDefault(t.AttemptTimeout, DefaultAttemptTimeout, 0))
	isSettled := false // the attempt has ended, or the response's body will end it
	defer func() {
		if !isSettled { // Base returned nothing, or a function has panicked
			a.endAfterFailure(resp)
		}
	}()
	out := toSend.WithContext(a.ctx)
	// A Host header that only repeats the URL's host is replaced with it. Any
	// other one is the caller's, and is kept.
	if out.Host == req.URL.Host {
		out.Host = u.Host
	}
	out.URL = u
	resp, err = t.base().RoundTrip(out)
	if err != nil {
		err = a.explain(err)
		a.end(a.failure(err))
		isSettled = true
		return nil, err
	}
	if resp == nil {
		return nil, errors.New("politeness: Base returned neither a response nor an error")
	}
	a.answered.Store(true)
	if resp.Request == out {
		// The request out has the attempt's context, which ends with the
		// attempt. The request req has the caller's context.
		resp.Request = req
	}
	outcome := Outcome{Status: resp.StatusCode, Header: resp.Header, Latency: a.latency()}
	if resp.StatusCode == http.StatusSwitchingProtocols && len(req.Header["Upgrade"]) == 0 {
		if resp.Body == nil {
			resp.Body = http.NoBody
		}
		a.closeEarly(resp.Body, outcome)
		isSettled = true
		return nil, fmt.Errorf("politeness: %.253s switched to another protocol (101), which was not requested: no page can be read there", req.URL.Host)
	}
	isRobotsTxt := a.grant.request.Exempt
	if isRobotsTxt && resp.Body == nil {
		resp.Body = http.NoBody // the caller's Close frees the slot: see body
	}
	isEmpty := resp.Body == nil || resp.Body == http.NoBody
	if isEmpty && !isRobotsTxt {
		a.end(outcome)
		isSettled = true
		return resp, nil
	}
	a.grant.gotResponse(req.Context(), outcome, &a.openBody)
	resp.Body = a.wrap(resp)
	isSettled = true
	return resp, nil
}
