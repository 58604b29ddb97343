package command

import (
	"net/url"
	"strings"
)

// IsURL tells a URL from a file's name.
func IsURL(s string) bool { return strings.Contains(s, "://") }

// ParseURL reads the URL of something that can be fetched. The error is a
// UsageError.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, UsageError(err.Error())
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, Usagef("%q: write a URL with http or https and a host", s)
	}
	return u, nil
}
