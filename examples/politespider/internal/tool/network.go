package tool

import (
	"net/http"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
)

// network returns what sends requests to the sites of the crawl: through the
// proxy, if there is one; else base; if that is nil, to the demo or to the
// network.
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
