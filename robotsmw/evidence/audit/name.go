package audit

import "strings"

func isRobots(url string) bool {
	path := pathOf(url)
	const name = "/robots.txt"
	return strings.HasPrefix(path, name) && (len(path) == len(name) || path[len(name)] == '?')
}

// pathOf returns the path and query of a URL. It returns "" if the URL is
// neither a path nor absolute.
func pathOf(url string) string {
	if strings.HasPrefix(url, "/") {
		return url
	}
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[i:]
	}
	return "/"
}

// originOf returns the scheme and host of an absolute URL. If s is a Host
// header, the scheme is "". The host is in lower case, without a dot at its
// end, and without the scheme's default port. If there is no scheme, both 80
// and 443 count as default ports.
func originOf(s string) (scheme, host string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	scheme, host = strings.ToLower(scheme), strings.ToLower(rest)
	if scheme != "https" {
		host = strings.TrimSuffix(host, ":80")
	}
	if scheme != "http" {
		host = strings.TrimSuffix(host, ":443")
	}
	if name, port, ok := strings.Cut(host, ":"); ok && strings.HasSuffix(name, ".") {
		host = strings.TrimSuffix(name, ".") + ":" + port
	}
	host = strings.TrimSuffix(host, ".")
	return scheme, clip(host)
}

// The constant "longest" limits the name of a host or robot, in bytes. Longer
// host names cannot be resolved.
const longest = 255

func clip(s string) string { return s[:min(len(s), longest)] }

// robotOf returns the product token of a User-Agent: the token characters at
// its beginning. If these are Mozilla, it returns the token characters after
// "compatible;". For a browser, and for an empty User-Agent, it returns "".
func robotOf(userAgent string) string {
	token := leadingToken(userAgent)
	if strings.EqualFold(token, "Mozilla") {
		_, after, ok := cutFold(userAgent, "compatible;")
		if !ok {
			return ""
		}
		token = leadingToken(strings.TrimLeft(after, " "))
	}
	return clip(token)
}

func leadingToken(s string) string {
	i := 0
	for i < len(s) && isTokenByte(s[i]) {
		i++
	}
	return s[:i]
}

func isTokenByte(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b == '.'
}

// cutFold is strings.Cut, but ignores case. sep must be ASCII.
func cutFold(s, sep string) (before, after string, found bool) {
	for i := 0; i+len(sep) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(sep)], sep) {
			return s[:i], s[i+len(sep):], true
		}
	}
	return s, "", false
}
