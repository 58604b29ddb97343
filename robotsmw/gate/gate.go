package gate

import (
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/internal/origin"
)

// methods maps each path to its method.
var methods = map[string]string{
	"/check": http.MethodGet,
	"/fetch": http.MethodGet,
	"/done":  http.MethodPost,
}

// ServeHTTP responds to a request. A client without access receives status 401.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.hasAccess(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "gate: access requires a loopback address or the token",
			http.StatusUnauthorized)
		return
	}
	switch method := methods[r.URL.Path]; {
	case method == "":
		http.NotFound(w, r)
		return
	case r.Method != method:
		w.Header().Set("Allow", method)
		http.Error(w, "gate: "+r.URL.Path+" requires the method "+method,
			http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/done":
		h.done(w, r)
		return
	}
	defer h.active.Add(-1)
	if h.active.Add(1) > maxRequests {
		refused("too many requests at a time: retry later").write(w, http.StatusServiceUnavailable)
		return
	}
	u, err := target(r)
	switch {
	case err != nil:
		refused(err.Error()).write(w, http.StatusBadRequest)
	case r.URL.Path == "/check":
		h.check(w, r, u)
	default:
		h.fetch(w, r, u)
	}
}

// hasAccess reports whether the client sends the token or is on a loopback
// address.
func (h *Handler) hasAccess(r *http.Request) bool {
	token := bearerToken(r)
	if h.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(h.Token)) == 1 {
		return true
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	isLocal := err == nil && from.Addr().Unmap().IsLoopback() && isLoopback(r.Host)
	return isLocal && !isForeign(r.Header)
}

// isForeign reports whether a request seems to be made by a page in a browser,
// or forwarded by a proxy.
func isForeign(h http.Header) bool {
	for _, name := range []string{"Origin", "X-Forwarded-For", "Forwarded"} {
		if h[name] != nil {
			return true
		}
	}
	site := h.Get("Sec-Fetch-Site")
	return site != "" && site != "none" && site != "same-origin"
}

// bearerToken returns the token in the Authorization field of a request. It
// returns "" if there is no such field, or if the field has another scheme than
// Bearer (RFC 6750 §2.1). The scheme's case is ignored (RFC 9110 §11.1).
func bearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

// isLoopback reports whether a Host is localhost or a loopback address. Other
// names may resolve to one (DNS rebinding).
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// isWebURL reports whether u is an absolute URL of the scheme http or https.
func isWebURL(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// target returns the URL in the parameter url. It must have a valid origin,
// because robots.txt belongs to an origin. A request must have no body, because
// net/http notices a disconnected client only after the body was read.
func target(r *http.Request) (*url.URL, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	hasURL := err == nil && len(query["url"]) == 1 && len(query.Get("url")) <= 8<<10
	if !hasURL || r.ContentLength != 0 {
		return nil, errors.New("the request must have no body and exactly one query parameter \"url\", " +
			"percent-encoded, with a URL of at most 8 KiB")
	}
	u, err := url.Parse(query.Get("url"))
	if err != nil || !isWebURL(u) {
		return nil, errors.New("the url must begin with http:// or https:// and a host")
	}
	u.User = nil
	u.Fragment = ""
	u.RawFragment = ""
	_, err = origin.Of(u, "")
	return u, err
}
