package webbotauth

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/politeness/structured"
)

// authority returns the component @authority of a request over TLS (RFC 9421
// §2.2.3).
func authority(req *http.Request) (string, error) {
	return normalHost(cmp.Or(req.Host, req.URL.Host))
}

// normalHost returns a host, with or without a port, in the form of @authority:
// as net/http sends it, but in lower case, and without port 443 or an empty
// port.
func normalHost(host string) (string, error) {
	host, err := sentHost(host)
	if err != nil {
		return "", err
	}
	host = strings.TrimSuffix(strings.ToLower(host), ":443")
	return strings.TrimSuffix(host, ":"), nil
}

// sentHost returns the Host header that net/http sends for host. net/http
// converts names that are not ASCII, removes the zone of an address, and sends
// an empty Host if host contains an invalid character such as a line break. If
// host contains an unusual character, sentHost therefore writes a request to
// memory and returns the Host of that request.
func sentHost(host string) (string, error) {
	if !strings.ContainsFunc(host, isUnusual) {
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
		return "", fmt.Errorf("webbotauth: the host %q is not valid in a Host header", host)
	}
	return name, nil
}

// isUnusual reports whether net/http may change a host that contains r.
func isUnusual(r rune) bool {
	isLetter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	isDigit := '0' <= r && r <= '9'
	return !isLetter && !isDigit && !strings.ContainsRune(".-_:[]", r)
}

// path returns the component @path of a request (RFC 9421 §2.2.6): the path as
// net/http sends it, with its escapes and without the query.
func path(req *http.Request) string {
	target, _, _ := strings.Cut(req.URL.RequestURI(), "?")
	if after, absolute := strings.CutPrefix(target, req.URL.Scheme+"://"); absolute { // the URL has an Opaque part
		_, target, _ = strings.Cut(after, "/")
		target = "/" + target
	}
	return target
}

func method(req *http.Request) string { return cmp.Or(req.Method, http.MethodGet) }

// fieldValue returns the value of a field according to RFC 9421 §2.1: its
// lines, trimmed and joined with ", ".
func fieldValue(h http.Header, name string) string {
	lines := slices.Clone(h.Values(name))
	for i, line := range lines {
		lines[i] = strings.Trim(line, " \t")
	}
	return strings.Join(lines, ", ")
}

// maxSignatureField is the maximum total size of a field's lines, in bytes.
// Longer fields are treated as malformed.
const maxSignatureField = 64 << 10

// dictionaryField parses a field that is a Dictionary (RFC 9651 §3.2). It
// returns false if the field is malformed.
func dictionaryField(h http.Header, name string) ([]structured.Member, bool) {
	return structured.Dictionary(h.Values(name), maxSignatureField)
}
