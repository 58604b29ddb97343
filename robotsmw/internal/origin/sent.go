package origin

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
)

// SentHost returns the Host to send with a request to u of the named origin,
// whose own Host is host: the one that the origin's robots.txt is fetched with.
// It is "" where net/http sends that by itself.
func SentHost(name []byte, u *url.URL, host string) string {
	if host == "" {
		host = u.Host
	}
	if at := len(name) - len(host); at > 0 && string(name[at:]) == host && (name[at-1] == '/' || name[at-1] == ' ') {
		return "" // nearly always
	}
	_, own, _ := bytes.Cut(name, []byte("://"))
	if _, via, ok := bytes.Cut(own, []byte(" ")); ok {
		own = via
	}
	return string(own)
}

// SentURL returns the URL to send a request to that was made for u: u itself,
// but where that has a path without a leading slash. There net/http would send
// none either, and to a proxy a path ".b.example/" as part of the host's name.
func SentURL(u *url.URL) *url.URL {
	if HasPlainTarget(u) || u.Opaque != "" || u.Path == "*" {
		return u
	}
	sent := *u
	if path := u.EscapedPath(); isAbsolute(path) {
		sent.Opaque = path // which no host is put before
		return &sent
	}
	sent.Path = "/" + u.Path
	if u.RawPath != "" {
		sent.RawPath = "/" + u.RawPath
	}
	return &sent
}

// CheckTarget reports a request to u, whose own Host is host, with a target
// that names another origin. A target in absolute form counts for more than the
// Host header (RFC 9112 §3.2.2), so the request would be decided by the rules
// of one host and answered by another.
func CheckTarget(u *url.URL, host string) error {
	if HasPlainTarget(u) {
		return nil
	}
	target := u.RequestURI()
	switch {
	case target[0] == '/' || target == "*" || u.Opaque == "" && !isAbsolute(target):
		return nil
	case !isAbsolute(target):
		return fmt.Errorf("robotsmw: the request target %s is neither a path nor an absolute URL: give a URL without Opaque", quoted(target))
	}
	scheme, authority, _ := strings.Cut(target, "://")
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if host == "" {
		host = u.Host
	}
	prefix, namedPrefix := prefixOf(u.Scheme), prefixOf(scheme)
	own, err := appendHost([]byte(prefix), prefix, host)
	if err != nil {
		return err
	}
	named, err := appendHost([]byte(namedPrefix), namedPrefix, authority)
	if err != nil || string(named) != string(own) {
		return fmt.Errorf("robotsmw: the request target %s names another origin than %s: give a URL without Opaque", quoted(target), own)
	}
	return nil
}

// Path returns what of a request target the rules are about: the path and the
// query, from its first slash on.
func Path(target string) string {
	if !isAbsolute(target) {
		return target
	}
	_, target, _ = strings.Cut(target, "://")
	if i := strings.IndexAny(target, "/?#"); i >= 0 {
		return target[i:]
	}
	return ""
}

// HasPlainTarget reports whether the request target of u is a path, as nearly
// always: CheckTarget has nothing to look at.
func HasPlainTarget(u *url.URL) bool {
	return u.Opaque == "" && (u.Path == "" || u.Path[0] == '/') && (u.RawPath == "" || u.RawPath[0] == '/')
}

// isAbsolute reports whether a request target is in absolute form.
func isAbsolute(target string) bool {
	i := strings.Index(target, "://")
	return i > 0 && !strings.ContainsAny(target[:i], "/?#")
}
