package robotsmw

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/goodbots/courtesy/politeness"
)

// An Admission is the permission to make one request with a client that is not
// an http.Client. Transport.Admit returns it, and Done ends it.
type Admission struct {
	// Decision is the decision that allowed the request. Decision.URL is the
	// URL to request. It is a copy of the URL that Admit was called with, with
	// the host in ASCII.
	Decision Decision

	grant *politeness.Grant // nil if no Limiter delays the request
}

// Done ends the admission: it frees the host's slot and reports the result of
// the request to the Limiter, which adapts the pace of the host. Call it when
// the response has been read or the request has failed. The Outcome should
// contain the status and the header of the response, in which the Limiter finds
// Retry-After, rate limits and signs of bot protection. It should also contain
// the latency, which Limiter.Adaptive needs. The zero Outcome only frees the
// slot.
//
// Only the first call of Done has an effect. Done does nothing if a is nil. It
// is safe for concurrent use.
func (a *Admission) Done(o politeness.Outcome) {
	if a != nil {
		a.grant.Done(o)
	}
}

// Admit checks that robots.txt allows u, and waits until u's host is due. The
// caller should then immediately make one request for Admission.Decision.URL,
// and call Admission.Done when the request is over. Admit is for clients that
// cannot use an http.RoundTripper, such as a headless browser. An http.Client
// should use the Transport itself, whose RoundTrip does the same and also sends
// the request, limits its time, examines the page, and calls the Limiter when
// the body has been read. Admit is safe for concurrent use.
//
// As RoundTrip does, Admit checks robots.txt before the wait, and again when
// the host is due. If robots.txt has expired by then, it is fetched first. The
// decision does not depend on the request's method.
//
// # Errors
//
// Admit returns the errors that RoundTrip returns before it sends a request:
// *DisallowedError, *politeness.DelayError, and the other errors of
// Checker.Check and politeness.Limiter.Acquire. It also returns an error if u
// has both an Opaque part and a Host, because only net/http sends a request for
// such a URL to that host. After an error, the Admission is nil, and no slot,
// interval or budget has been used up.
//
// # The pace
//
// Options.Limiter delays the requests, together with those of RoundTrip and
// those for robots.txt. If Options.Limiter is nil and Options.Base is a
// *politeness.Transport, that Transport's Limiter, which must be set, delays
// the requests instead. A Limiter further inside Base has no effect on Admit.
// If there is no Limiter, an allowed URL is admitted immediately.
//
// If Limiter.MaxWait is negative, Admit does not wait for the host. If the host
// is not due, it returns a *politeness.DelayError that contains the time at
// which the host is due. Admit may still wait for the response to a request for
// robots.txt.
//
// The end of ctx ends the wait, but not the Admission. If Done is not called,
// the slot is freed after Limiter.Lease, 10 minutes by default. Until then, no
// other request to the host may start, unless Limiter.Concurrency allows more
// than one. The interval to the host's next request is counted from the return
// of Admit. The Admission counts as one request in Limiter.Budget, even if the
// caller sends none. Because Admit does not see the response, the size of the
// response is not counted in Budget.Bytes.
//
// Values of ctx are used as in RoundTrip: see politeness.WithTrace and
// politeness.WithCheck. For the context that the Granted function of the
// Limiter's Observer receives, DecisionOf returns the decision. The events of
// Done have a background context.
//
// # What the caller must do
//
// The Transport does not see the request. Therefore the caller must
//
//   - send Options.UserAgent, because Admit applies the rules for its product
//     tokens;
//   - call Admit for the target of each redirect before requesting the target,
//     and before that call of Admit, call Done for the redirect. Otherwise the
//     target may wait for the slot that the redirect holds, until the Lease
//     ends;
//   - call Admit again before each retry;
//   - refuse private addresses. Options.RefuseAddress is called only for the
//     connections that fetch robots.txt, and there is none while robots.txt is
//     in memory. It is never called for the connections of the caller's client.
//     For a client with a net.Dialer, use
//     DialControl(PublicOnly). A client that resolves names by itself needs a
//     proxy that refuses such addresses;
//   - refuse schemes that the client should not open. A URL without a host,
//     such as that of a file, is admitted at once: as with any scheme other
//     than http, https and ftp, robots.txt does not apply to it, and
//     Decision.Reason is NotApplicable;
//   - read the page's directives, with packages robotsmeta and htmlmeta.
func (t *Transport) Admit(ctx context.Context, u *url.URL) (*Admission, error) {
	limiter, err := t.cfg.limiter()
	if err != nil {
		return nil, err
	}
	if u != nil {
		// The Limiter and the Decision keep the URL until Done. The caller may
		// change its own.
		u = new(*u)
	}
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"User-Agent": {t.cfg.UserAgent}}}
	a := new(Admission)
	out, s, err := t.admit(req.WithContext(ctx), func(out *http.Request) (err error) {
		a.grant, err = acquire(limiter, out)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.Decision = *s.latestDecision()
	a.Decision.URL = out.URL
	return a, nil
}

// acquire waits until the request may be made by a client other than net/http.
// If the limiter is nil or the URL has no host, the request does not wait, and
// the Grant is nil.
func acquire(limiter *politeness.Limiter, req *http.Request) (*politeness.Grant, error) {
	ctx, u := req.Context(), req.URL
	if u.Opaque != "" && u.Host != "" {
		return nil, errors.New("robotsmw: the URL has an Opaque part, so its String has no host: call Admit with a URL that has a Path")
	}
	if limiter != nil && u.Host != "" {
		return limiter.Acquire(ctx, u)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, nil
}

// limiter returns the Limiter that delays the requests of Admit: that of
// sender, if sender is a politeness.Transport. If sender is anything else,
// there is no Limiter, and the result is nil. If sender is a
// politeness.Transport without a Limiter, limiter returns an error.
func (c *config) limiter() (*politeness.Limiter, error) {
	paced, ok := c.sender.(*politeness.Transport)
	if !ok {
		return nil, nil
	}
	if paced.Limiter == nil {
		return nil, errors.New("robotsmw: Admit requires a Limiter, but Options.Base is a politeness.Transport without one: set its Limiter")
	}
	return paced.Limiter, nil
}
