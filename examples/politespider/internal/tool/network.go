package tool

import (
	"net/http"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
)

// network() returns the RoundTripper that sends requests to the crawl's sites.
// With -proxy, the RoundTripper uses the proxy. Without -proxy, it is base or,
// if base is nil, a transport to the demo or to the internet. Call disconnect()
// to close what was opened.
func (o *options) network(base http.RoundTripper) (_ http.RoundTripper, disconnect func(), err error) {
	switch {
	case o.through != nil:
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.Proxy = http.ProxyURL(o.through)
		return transport, transport.CloseIdleConnections, nil
	case base != nil:
		return base, func() {}, nil
	case o.isDemo:
		site, err := demosite.Start()
		if err != nil {
			return nil, nil, err
		}
		transport := &http.Transport{DialContext: site.DialContext}
		return transport, func() { transport.CloseIdleConnections(); site.Close() }, nil
	}
	return http.DefaultTransport, func() {}, nil
}
