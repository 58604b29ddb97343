package tool

import (
	"context"
	"fmt"
	"net/http"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
)

// network returns the RoundTripper that sends requests to the crawl's sites.
// With -proxy, the RoundTripper uses the proxy. Without -proxy, it is base or,
// if base is nil, a transport to the demo or to the internet. The caller must
// call disconnect to close what network has opened.
func (o *options) network(base http.RoundTripper) (_ http.RoundTripper, disconnect func(), err error) {
	switch {
	case o.proxyURL != nil:
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.Proxy = http.ProxyURL(o.proxyURL)
		return transport, transport.CloseIdleConnections, nil
	case base != nil:
		return base, func() {}, nil
	case o.isDemo:
		site, err := demosite.Start()
		if err != nil {
			return nil, nil, err
		}
		transport := &http.Transport{DialContext: site.DialContext}
		disconnect = func() {
			transport.CloseIdleConnections()
			site.Close()
		}
		return transport, disconnect, nil
	}
	return http.DefaultTransport, func() {}, nil
}

// open opens the state of the crawl, and the store of robots.txt.
func (o *options) open(ctx context.Context) (kept *keep.Kept, err error) {
	o.keep.Delay = o.Delay
	if o.shared != nil {
		return o.shared.Open(ctx, o.keep)
	}
	kept, err = keep.Open(o.resume, o.keep)
	if err != nil || o.store == "" {
		return kept, err
	}
	if kept.Store, err = diskstore.Open(o.store); err != nil {
		return nil, fmt.Errorf("-store: %w", err)
	}
	return kept, nil
}
