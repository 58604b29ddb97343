package webbotauth

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// authority returns @authority of a request that is about to be sent over TLS
// (RFC 9421 §2.2.3).
func authority(req *http.Request) (string, error) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	return normalHost(host)
}

// normalHost returns a host with its port in the form of @authority: as
// net/http sends it, in lower case, without the port of https.
func normalHost(host string) (string, error) {
	host, err := sentHost(host)
	if err != nil {
		return "", err
	}
	host = strings.ToLower(host)
	host = strings.TrimSuffix(host, ":443")
	return strings.TrimSuffix(host, ":"), nil
}

// sentHost returns the Host header that net/http sends for host. For a
// non-ASCII name or an address with a zone the two differ, so net/http is
// asked.
func sentHost(host string) (string, error) {
	if !strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 || r == '%' }) {
		return host, nil
	}
	var sent bytes.Buffer
	req := http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: host}
	if err := req.Write(&sent); err != nil {
		return "", fmt.Errorf("webbotauth: the host %q: %w", host, err)
	}
	_, rest, _ := strings.Cut(sent.String(), "\r\nHost: ")
	name, _, _ := strings.Cut(rest, "\r\n")
	if name == "" {
		return "", fmt.Errorf("webbotauth: the host %q cannot be sent", host)
	}
	return name, nil
}

// path returns @path of a request that is about to be sent: the path of its
// target as it is sent, with its escapes (RFC 9421 §2.2.6).
func path(req *http.Request) string {
	target, _, _ := strings.Cut(req.URL.RequestURI(), "?")
	if after, absolute := strings.CutPrefix(target, req.URL.Scheme+"://"); absolute { // the URL has an Opaque part
		_, target, _ = strings.Cut(after, "/")
		target = "/" + target
	}
	return target
}

// method returns @method of a request that is about to be sent.
func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}
