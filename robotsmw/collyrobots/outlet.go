package collyrobots

import (
	"context"
	"net/http"
	"time"

	"github.com/gocolly/colly/v2"
)

// outlet is the transport by which requests leave, after the wait for their
// host. It waits for the slot of a LimitRule and limits the attempt. Requests
// for robots.txt leave by the hub of Attach's collector.
type outlet struct{ *sender }

func (o outlet) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := o.send(req)
	if err != nil && req.Body != nil {
		req.Body.Close()
	}
	return resp, err
}

func (o outlet) send(req *http.Request) (*http.Response, error) {
	p := pageOf(req)
	if p == nil {
		base, _, err := o.main.now()
		if err != nil {
			return nil, err
		}
		return base.RoundTrip(req)
	}
	h, ctx := p.hub, req.Context()
	end := &p.slot
	*end = slotBody{}
	rule, _ := h.ruleFor(req.URL.Host)
	var err error
	if end.leave, err = enter(ctx, rule); err != nil {
		return nil, err
	}
	base, timeout, err := h.now() // it may have changed while the request waited
	if err != nil {
		end.end()
		return nil, err
	}
	if p.sent.IsZero() {
		p.sent = time.Now()
		o.count.waitedFor(p.sent.Sub(p.since))
	}
	sent := req
	if timeout > 0 {
		ctx, end.cancel = context.WithTimeout(ctx, timeout)
		sent = req.WithContext(ctx)
	}
	p.body.attempt = ctx
	resp, err := base.RoundTrip(sent)
	p.proxy, _ = sent.Context().Value(colly.ProxyURLKey).(string) // colly's proxy switchers note their choice in the context
	if err != nil || resp.Body == nil {
		end.end()
		return resp, err
	}
	if resp.Request == sent {
		resp.Request = req
	}
	end.ReadCloser = resp.Body
	resp.Body = end
	return resp, nil
}

// Unwrap returns the transport that sends. politeness.Transport looks at the
// protocols of that transport, to know how to treat requests that net/http
// sends again.
func (o outlet) Unwrap() http.RoundTripper {
	base, _, _ := o.main.now()
	return base
}

func (o outlet) CloseIdleConnections() {
	if c, ok := o.Unwrap().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
