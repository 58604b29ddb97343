package origin

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/politeness"
)

// SentURL returns the URL to which a request for u is sent: nearly always u
// itself. A host with non-ASCII letters is sent in its canonical form, because
// http.Transport may otherwise connect to it again and again. If the path of u
// has no leading slash and is not "*", SentURL adds the slash, because a proxy
// would read the path ".b.example/" as a part of the host's name. If the path
// is an absolute URL, SentURL makes that path the request target instead.
func SentURL(u *url.URL) *url.URL {
	u = politeness.CanonicalURL(u)
	if HasPlainTarget(u) || u.Opaque != "" || u.Path == "*" {
		return u
	}
	sent := *u
	if path := u.EscapedPath(); isAbsolute(path) {
		sent.Opaque = path // net/http puts no host before this
		return &sent
	}
	sent.Path = "/" + u.Path
	if u.RawPath != "" {
		sent.RawPath = "/" + u.RawPath
	}
	return &sent
}

// CheckTarget returns an error if the target of a request to u names another
// origin, or is neither a path nor an absolute URL. host is the Host of the
// http.Request. A target in absolute form overrides the Host header (RFC 9112
// §3.2.2). Without this check, the rules of one host would decide about a
// request that another host receives.
func CheckTarget(u *url.URL, host string) error {
	if HasPlainTarget(u) {
		return nil
	}
	target := u.RequestURI()
	if target[0] == '/' || target == "*" {
		return nil
	}
	if !isAbsolute(target) {
		if u.Opaque == "" {
			return nil // SentURL adds the slash
		}
		return errors.New("robotsmw: the request target is neither a path nor an absolute URL; clear URL.Opaque")
	}
	scheme, authority, _ := strings.Cut(target, "://")
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if host == "" {
		host = u.Host
	}
	prefix, namedPrefix := schemePrefix(u.Scheme), schemePrefix(scheme)
	own, err := appendHost([]byte(prefix), prefix, host)
	if err != nil {
		return err
	}
	named, err := appendHost([]byte(namedPrefix), namedPrefix, authority)
	if err != nil || string(named) != string(own) {
		return fmt.Errorf("robotsmw: the request target names a different origin from %s; "+
			"clear URL.Opaque or use the same origin", own)
	}
	return nil
}

// HasPlainTarget reports whether the request target of u is a path, as it
// nearly always is. If so, CheckTarget returns nil.
func HasPlainTarget(u *url.URL) bool {
	isPath := func(s string) bool { return s == "" || s[0] == '/' }
	return u.Opaque == "" && isPath(u.Path) && isPath(u.RawPath)
}

// isAbsolute reports whether a request target is in absolute form.
func isAbsolute(target string) bool {
	i := strings.Index(target, "://")
	return i > 0 && !strings.ContainsAny(target[:i], "/?#")
}
