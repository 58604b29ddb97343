package politeness

import (
	"net/http"
	"net/url"
)

// scheduledURL returns the URL of the host that the request reaches in the end,
// whose delay the request keeps. This is the URL of the request, unless base
// sends the request to an HTTP proxy in plain text. In that case, net/http
// writes the Host of the request into the target, and the proxy contacts that
// host. For https, the proxy gets a CONNECT with the host of the URL.
func scheduledURL(base http.RoundTripper, req *http.Request) *url.URL {
	isOwn := req.Host == "" || req.Host == req.URL.Host
	if isOwn || req.URL.Scheme != "http" || !hasHTTPProxy(base, req) {
		return req.URL
	}
	other := *req.URL
	other.Host = req.Host
	if host, ok := targetHost(req.URL); ok { // overrides the Host: see checkTarget
		other.Host = host
	}
	return &other
}

// hasHTTPProxy reports whether base sends a request to an HTTP proxy. It knows
// this only of an http.Transport.
func hasHTTPProxy(base http.RoundTripper, req *http.Request) bool {
	t, ok := base.(*http.Transport)
	if !ok || t.Proxy == nil {
		return false
	}
	proxy, err := t.Proxy(req)
	if err != nil || proxy == nil { // after an error, base sends nothing
		return false
	}
	return proxy.Scheme == "http" || proxy.Scheme == "https"
}
