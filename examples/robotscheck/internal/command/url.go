package command

import (
	"net/url"
	"strings"
)

// IsURL tells a URL from a file's name.
func IsURL(s string) bool { return strings.Contains(s, "://") }

// MeantURL is the URL that was meant by a text that begins with a mistyped
// scheme, such as htp://, https:/ or http//; "" if it does not look like that.
func MeantURL(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') })
	if end < 3 {
		return ""
	}
	name, rest := strings.ToLower(s[:end]), strings.TrimLeft(s[end:], ":;/")
	if mark := s[end : len(s)-len(rest)]; rest == "" || len(mark) < 2 && mark != ":" {
		return "" // a directory
	}
	switch hasS := strings.Contains(name, "s"); {
	case hasS && isNear(name, "https"):
		return "https://" + rest
	case isNear(name, "http"):
		return "http://" + rest
	}
	return ""
}

// isNear reports whether a text is another, or becomes it when one byte is left
// out, added or replaced, or two change places.
func isNear(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a)+len(b) <= 1 || len(a) == 1 && len(b) == 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// ParseURL reads the URL of something that can be fetched. The error is a
// UsageError.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, UsageError(err.Error())
	case u.Scheme != "http" && u.Scheme != "https" && MeantURL(s) != "":
		return nil, Usagef("%q: there is no scheme %q: did you mean %s?", s, u.Scheme, MeantURL(s))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, Usagef("%q: write a URL with http or https and a host", s)
	}
	return u, nil
}
