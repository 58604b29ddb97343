package politeness

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
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

// checkTarget returns an error if a target in absolute form names neither the
// host of the URL nor that of the Host header. The request would keep the delay
// of the wrong host: the Limiter uses the host of the URL, but a target in
// absolute form overrides the Host header (RFC 9112 §3.2.2), and a proxy sends
// the request to the target's host.
func checkTarget(req *http.Request) error {
	authority, ok := targetHost(req.URL)
	if !ok {
		return nil
	}
	key, err := HostKey(req.Context(), &url.URL{Host: authority})
	for _, host := range []string{req.URL.Host, req.Host} {
		if own, _ := HostKey(req.Context(), &url.URL{Host: host}); err == nil && own == key {
			return nil
		}
	}
	return fmt.Errorf("politeness: the request target names a different origin from %s; clear URL.Opaque or use the same origin",
		abbreviated(req.URL.Host))
}

// targetHost returns the host and port in the target of a request for u, if the
// target is in absolute form. For a URL without Opaque, it is not.
func targetHost(u *url.URL) (host string, ok bool) {
	if u.Opaque == "" && (u.Path == "" || u.Path[0] == '/') {
		return "", false
	}
	scheme, rest, ok := strings.Cut(u.RequestURI(), "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return "", false
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest, true
}
