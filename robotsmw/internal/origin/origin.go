// Package origin determines the origin of a URL, and the URL of an origin's
// robots.txt:
//
//	http://Example.COM:80/page  →  "http://example.com"  →  http://example.com/robots.txt
//
// An origin is written as "https://example.com:8443". Scheme and host are in
// lower case. The host is in ASCII (IDNA) and has no trailing dot. The port is
// left out if it is the scheme's default. An http URL and an https URL of one
// host have different origins (RFC 9309 §2.3: the rules apply to the authority
// that served them). A request whose Host header overrides the host of its URL
// has an origin of its own, written "http://127.0.0.1:8080 example.com": its
// robots.txt is fetched at the same address with that Host.
//
// Hosts have the form that package politeness gives them, so all spellings of a
// host share their rules and their delays. Requests are sent with that form
// too: see Host.
package origin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/politeness"
)

// Applies reports whether robots.txt applies to URLs of the scheme. The scheme
// may be in upper or lower case.
func Applies(scheme string) bool { return schemePrefix(scheme) != "" }

// schemePrefix returns how the origins of a scheme begin, or "" if robots.txt
// does not apply to it.
func schemePrefix(scheme string) string { return prefixes[strings.ToLower(scheme)] }

var (
	prefixes     = map[string]string{"http": "http://", "https": "https://", "ftp": "ftp://"}
	defaultPorts = map[string]uint64{"http://": 80, "https://": 443, "ftp://": 21}
)

// Append appends the origin of u to buf. If robots.txt does not apply to the
// scheme of u, it appends nothing. host is the request's Host; "" means the
// URL's own. For a plain host, Append allocates nothing if buf has room, so a
// cached origin can be looked up without an allocation.
func Append(buf []byte, u *url.URL, host string) ([]byte, error) {
	prefix := schemePrefix(u.Scheme)
	if prefix == "" {
		return buf, nil
	}
	if u.Host == "" {
		return nil, errors.New("robotsmw: the URL has no host: use an absolute URL")
	}
	buf = append(buf, prefix...)
	start := len(buf)
	buf, err := appendHost(buf, prefix, u.Host)
	if err != nil || host == "" || host == u.Host {
		return buf, err
	}
	end := len(buf)
	buf = append(buf, ' ')
	if buf, err = appendHost(buf, prefix, host); err != nil {
		return nil, err
	}
	if string(buf[end+1:]) == string(buf[start:end]) {
		return buf[:end], nil
	}
	return buf, nil
}

// appendHost appends a host and its port in the canonical form of an origin.
// Package politeness converts the name of the host, so that origins and delays
// use the same name.
func appendHost(buf []byte, prefix, hostport string) ([]byte, error) {
	if len(hostport) > 2048 { // HostKey checks the exact limit, but reads each byte of the host first
		return nil, fmt.Errorf("robotsmw: the host %s is too long: use an absolute URL",
			quoted(hostport))
	}
	host, port := splitPort(hostport)
	isIPv6 := strings.IndexByte(host, ':') >= 0
	if isIPv6 && host[0] != '[' {
		return nil, fmt.Errorf("robotsmw: the host %s has more than one colon: write an IPv6 address in brackets",
			quoted(hostport))
	}
	name, err := politeness.HostKey(context.Background(), &url.URL{Host: host})
	if err != nil {
		return nil, fmt.Errorf("robotsmw: the host %s is invalid, so it has no robots.txt: %w: use an absolute URL",
			quoted(hostport), err)
	}
	if !isWritable(name) {
		return nil, fmt.Errorf("robotsmw: the host %s is not a valid domain name or address: "+
			"write an internationalized name in its xn-- form", quoted(hostport))
	}
	switch {
	case !isIPv6:
		buf = append(buf, name...)
	case strings.IndexByte(name, ':') >= 0:
		buf = append(append(append(buf, '['), name...), ']')
	default:
		// An IPv4-mapped address shares the delays of the IPv4 address.
		// However, its requests have a different Host header, so the rules may
		// differ.
		buf = append(append(append(buf, "[::ffff:"...), name...), ']')
	}
	if buf, err = appendPort(buf, prefix, port); err != nil {
		return nil, fmt.Errorf("robotsmw: the host %s: %w", quoted(hostport), err)
	}
	return buf, nil
}

// appendPort appends a colon and a port, as a number without leading zeros. For
// the default port of the scheme with that prefix, it appends nothing.
func appendPort(buf []byte, prefix, port string) ([]byte, error) {
	if port == "" {
		return buf, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, errors.New("its port is not a number of 65535 or less")
	}
	if n == defaultPorts[prefix] {
		return buf, nil
	}
	return strconv.AppendUint(append(buf, ':'), n, 10), nil
}

// quoted returns a host or a request target in quotes, cut to a length that
// suits an error.
func quoted(host string) string {
	if len(host) > 300 {
		host = strings.ToValidUTF8(host[:300], "") + "…"
	}
	return strconv.Quote(host)
}

// splitPort splits "host:port". The port may be empty. A colon inside brackets
// belongs to an IPv6 address.
func splitPort(hostport string) (host, port string) {
	i := strings.LastIndexByte(hostport, ':')
	if i < 0 || strings.IndexByte(hostport[i:], ']') >= 0 {
		return hostport, ""
	}
	return hostport[:i], hostport[i+1:]
}

// isWritable reports whether name can be part of an origin. If IDNA forbids a
// name, package politeness leaves the name unchanged. Such a name may contain
// non-ASCII bytes, a space or brackets. In an origin, a space ends a name, and
// brackets enclose an IPv6 address.
func isWritable(name string) bool {
	for i := range len(name) {
		switch b := name[i]; {
		case b >= utf8.RuneSelf, b == ' ', b == '[', b == ']':
			return false
		}
	}
	return true
}

// Of returns the origin that Append appends, as a string.
func Of(u *url.URL, host string) (string, error) {
	b, err := Append(nil, u, host)
	return string(b), err
}

// Parse returns the origin in a configuration, such as "https://example.com",
// with or without a final slash.
func Parse(name string) (string, error) {
	u, err := url.Parse(name)
	if err != nil {
		return "", fmt.Errorf("robotsmw: %q is not an origin: %w", name, err)
	}
	hasOnlyHost := u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
	if !Applies(u.Scheme) || u.Host == "" || !hasOnlyHost {
		return "", fmt.Errorf("robotsmw: %q is not an origin: use a scheme and a host only, such as \"https://example.com\"",
			name)
	}
	return Of(u, "")
}

// RobotsTxt returns the URL of an origin's robots.txt as a string.
func RobotsTxt(origin string) string {
	u, _ := RobotsURL(origin)
	return u.String() // escapes the zone of an IPv6 address
}

// Host returns the Host header with which the requests of an origin are sent.
func Host(origin string) string {
	if _, host, ok := strings.Cut(origin, " "); ok {
		return host
	}
	_, host, _ := strings.Cut(origin, "://")
	return host
}

// RobotsURL returns the URL of an origin's robots.txt, and the Host header to
// send ("" means the URL's own).
func RobotsURL(origin string) (u *url.URL, host string) {
	at, host, _ := strings.Cut(origin, " ")
	scheme, authority, _ := strings.Cut(at, "://")
	return &url.URL{Scheme: scheme, Host: authority, Path: "/robots.txt"}, host
}
