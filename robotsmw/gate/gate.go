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

// ServeHTTP responds to a request. A client that is not authorized gets only a
// 401.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.mayAsk(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "gate: ask from loopback, or with the token", http.StatusUnauthorized)
		return
	}
	methods := map[string]string{"/check": http.MethodGet, "/fetch": http.MethodGet, "/done": http.MethodPost}
	switch method := methods[r.URL.Path]; {
	case method == "":
		http.NotFound(w, r)
		return
	case r.Method != method:
		w.Header().Set("Allow", method)
		http.Error(w, "gate: "+r.URL.Path+" takes "+method, http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/done":
		h.done(w, r)
		return
	}
	defer h.under.Add(-1)
	if h.under.Add(1) > maxRequests {
		refused("too many requests are under way").write(w, http.StatusServiceUnavailable)
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

// mayAsk reports whether the client may ask. No header makes an address a
// loopback one, but those of a page in a browser, and of a proxy, speak against
// it.
func (h *Handler) mayAsk(r *http.Request) bool {
	token := bearerToken(r)
	if h.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(h.Token)) == 1 {
		return true
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() || !isLoopback(r.Host) || r.Header["Origin"] != nil || r.Header["X-Forwarded-For"] != nil || r.Header["Forwarded"] != nil {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "none" || site == "same-origin"
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

// isLoopback reports whether a Host names this machine. A name that was made to
// lead to it (DNS rebinding) does not.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// target returns the URL that a request is about, or what is wrong with it. The
// URL must have a valid origin, or there would be no robots.txt for it. A body
// would keep net/http from noticing that the client goes away.
func target(r *http.Request) (*url.URL, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(query["url"]) != 1 || len(query.Get("url")) > 8<<10 || r.ContentLength != 0 {
		return nil, errors.New("give one url of at most 8 KiB, with its special characters escaped, and no body")
	}
	u, err := url.Parse(query.Get("url"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the url has to begin with http:// or https:// and a host")
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	_, err = origin.Of(u, "")
	return u, err
}
