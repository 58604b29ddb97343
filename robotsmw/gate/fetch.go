package gate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
)

// fetch handles /fetch. No header of the client is sent to the site.
func (h *Handler) fetch(w http.ResponseWriter, r *http.Request, u *url.URL) {
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	req := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: make(http.Header)}
	resp, err := h.robots.RoundTrip(req.WithContext(ctx))
	if err == nil && resp.StatusCode < 200 {
		// cancel closes the connection.
		err = fmt.Errorf("gate: the site sent status %d without a final response", resp.StatusCode)
	}
	if err != nil {
		v, status := newVerdict(robotsmw.Decision{}, err)
		w.Header().Set("Courtesy-Decision", toHeaderValue(cmp.Or(v.decision, v.Error)))
		if v.Reason == robotsmw.Unreachable.String() && h.rejectsAllAddresses(ctx, u) {
			status = http.StatusBadGateway // the page is as unreachable as robots.txt
		}
		v.write(w, status)
		return
	}
	defer resp.Body.Close()
	passHeader(w.Header(), resp.Header)
	decision := robotsmw.DecisionOf(resp.Request.Context())
	w.Header().Set("Courtesy-Decision", toHeaderValue(decision.String()))
	// A page that a user opens here in a browser must not get the origin of the
	// gate.
	w.Header().Add("Content-Security-Policy", "sandbox")
	w.WriteHeader(resp.StatusCode)
	// The deadline is for a client that does not read.
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.timeout))
	body := http.MaxBytesReader(nil, resp.Body, cmp.Or(h.MaxBody, defaultMaxBody))
	if _, err := io.Copy(w, body); err != nil {
		panic(http.ErrAbortHandler) // the client must notice that the body is incomplete
	}
}

// rejectsAllAddresses reports whether RefuseAddress rejects all addresses of
// u's host. The result affects only the status: each connection is checked
// anyway.
func (h *Handler) rejectsAllAddresses(ctx context.Context, u *url.URL) bool {
	if h.refuse == nil {
		return false
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	isAccepted := func(a netip.Addr) bool { return h.refuse(a.Unmap()) == nil }
	return err == nil && !slices.ContainsFunc(addrs, isAccepted)
}

// toHeaderValue returns a text as a header value: printable ASCII, at most
// maxHeaderValue bytes.
func toHeaderValue(s string) string {
	s = strings.Trim(strconv.QuoteToASCII(s), `"`)
	return s[:min(len(s), maxHeaderValue)]
}

// passHeader copies a site's header for a client, except for the fields that
// concern one connection (RFC 9110 §7.6.1), and the Access-Control fields,
// which concern the site's origin and not the gate's.
func passHeader(to, from http.Header) {
	for name, values := range from {
		if !strings.HasPrefix(name, "Access-Control-") && !strings.HasPrefix(name, "Proxy-Authenticat") {
			to[name] = slices.Clone(values)
		}
	}
	dropped := strings.Join(from["Connection"], ",") +
		",Connection,Keep-Alive,Proxy-Connection,TE,Trailer,Transfer-Encoding,Upgrade," + verdictField
	for name := range strings.SplitSeq(dropped, ",") {
		to.Del(strings.TrimSpace(name))
	}
}
