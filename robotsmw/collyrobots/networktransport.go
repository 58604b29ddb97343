package collyrobots

import (
	"context"
	"net/http"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	robotspage "github.com/goodbots/courtesy/robotsmw/internal/page"
)

// A pageRequest is the context with which the guard sends a request for a page.
// It passes values to the networkTransport. A request for robots.txt has no
// pageRequest.
type pageRequest struct {
	context.Context                 // the request's own, which is canceled when the request must end
	values          context.Context // the sealed one, to which colly may have added its HTTPTrace
	trace           politeness.Trace
	guard           *guard
	since           time.Time       // when the guard received the request
	sent            time.Time       // when the request was first sent
	attempt         context.Context // ends with the attempt; Context until the request is sent
	proxy           string          // the proxy that colly's switcher chose; "" means none
}

type pageRequestKey struct{}

func (p *pageRequest) Value(key any) any {
	switch key {
	case pageRequestKey{}:
		return p
	case robotspage.ReadsItself{}:
		// Without an Options.Wrap, only Extension.Directives reads the
		// directives of the page. Therefore the robotsmw.Transport need not
		// read the body for them.
		if _, ok := p.guard.x.inner.(*robotsmw.Transport); ok {
			return true
		}
	}
	if isCancelKey(key) { // not of p.values, which has ended
		return p.Context.Value(key)
	}
	return p.values.Value(key)
}

// A networkTransport sends requests, after they have waited for their host. For
// a page, it waits for a slot of the LimitRule and limits the duration of the
// attempt.
type networkTransport struct{ x *Extension }

func (t networkTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer closeBody(req, &err)
	p, ok := req.Context().Value(pageRequestKey{}).(*pageRequest)
	if !ok {
		return t.sendForRobots(req)
	}
	releaseSlot, err := t.acquireRuleSlot(p.guard, req)
	if err != nil {
		return nil, err
	}
	base, timeout, err := p.guard.current() // another transport may have been set while the request waited
	if err != nil {
		releaseSlot()
		return nil, err
	}
	if p.sent.IsZero() {
		p.sent = time.Now()
		t.x.countWait(p.sent.Sub(p.since))
	}
	ctx, cancel := context.WithTimeout(req.Context(), timeout)
	p.attempt = ctx
	hasReturned := false
	defer func() {
		if !hasReturned { // base has panicked, or has ended the goroutine
			cancel()
			releaseSlot()
		}
	}()
	sent := req.WithContext(ctx)
	resp, err = base.RoundTrip(sent)
	hasReturned = true
	// colly's proxy switchers replace the context by one with their choice.
	p.proxy, _ = sent.Context().Value(colly.ProxyURLKey).(string)
	if resp == nil && err == nil {
		err = errNoResponse
	}
	if err != nil || resp.Body == nil {
		cancel()
		releaseSlot()
		return resp, err
	}
	if resp.Request == sent {
		resp.Request = req // the context of sent ends with the attempt
	}
	resp.Body = &slotBody{ReadCloser: httputil.NewCancelingBody(resp.Body, cancel), releaseSlot: releaseSlot}
	return resp, nil
}

// acquireRuleSlot waits for a slot of the LimitRule for a request. It returns
// an error if the request's context ends, or if the wait took more than a
// second and robots.txt now disallows the request.
func (t networkTransport) acquireRuleSlot(g *guard, req *http.Request) (releaseSlot func(), err error) {
	rule := g.ruleFor(req.URL.Host)
	if rule == nil {
		return func() {}, nil
	}
	start := time.Now()
	releaseSlot, err = acquireSlot(req.Context(), rule)
	if err != nil {
		return nil, err
	}
	if time.Since(start) > time.Second {
		// A Check whose context has ended does not wait.
		if d, err := t.x.checker.Check(ended, req.URL); err == nil && !d.Allowed {
			releaseSlot()
			return nil, &robotsmw.DisallowedError{Decision: d}
		}
	}
	return releaseSlot, nil
}

// sendForRobots sends a request for robots.txt through the transport of the
// collector that was passed to Attach. It takes no slot of a LimitRule, as in
// plain colly, and Options.RobotsTimeout limits its time. It does not read
// colly's client, because the program may set another one meanwhile: a
// robots.txt that will expire soon is fetched while no Visit runs.
func (t networkTransport) sendForRobots(req *http.Request) (*http.Response, error) {
	base, err := t.x.mainGuard().last()
	if err != nil {
		return nil, err
	}
	resp, err := base.RoundTrip(req)
	if resp == nil && err == nil {
		err = errNoResponse
	}
	return resp, err
}

// closeBody closes the body of a request that was not sent, as a RoundTripper
// must.
func closeBody(req *http.Request, err *error) {
	if *err != nil && req.Body != nil {
		req.Body.Close()
	}
}
