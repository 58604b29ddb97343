package politeness

import (
	"net/http"
	"net/url"
)

// pacedURL returns the URL by which a request is paced: that of the host which
// the request reaches in the end. This is the host of the URL, unless Base
// sends the request to an HTTP proxy in plain text. Then net/http writes the
// Host of the request into the target, and the proxy contacts that host. For
// https, the proxy gets a CONNECT with the host of the URL.
func (t *Transport) pacedURL(req *http.Request) *url.URL {
	isOwn := req.Host == "" || req.Host == req.URL.Host
	if isOwn || req.URL.Scheme != "http" || !t.hasHTTPProxy(req) {
		return req.URL
	}
	other := *req.URL
	other.Host = req.Host
	if host, ok := targetHost(req.URL); ok { // overrides the Host: see checkTarget
		other.Host = host
	}
	return &other
}

// hasHTTPProxy reports whether Base sends a request to an HTTP proxy. It knows
// this only of an http.Transport.
func (t *Transport) hasHTTPProxy(req *http.Request) bool {
	base, ok := t.base().(*http.Transport)
	if !ok || base.Proxy == nil {
		return false
	}
	proxy, err := base.Proxy(req)
	if err != nil || proxy == nil { // after an error, Base sends nothing
		return false
	}
	return proxy.Scheme == "http" || proxy.Scheme == "https"
}
