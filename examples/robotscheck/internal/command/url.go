package command

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/internal/weburl"
)

// A UsageError is a mistake on the command line. Command.Run prints it with the
// usage.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// IsURL reports whether an argument is a URL, rather than the name of a file.
func IsURL(s string) bool { return strings.Contains(s, "://") }

// MeantURL guesses the URL that the user meant by s. The scheme http or https
// in s may be mistyped, as in htp://, https:/ or http//. If s does not begin
// with one of these schemes, mistyped or not, MeantURL returns "".
func MeantURL(s string) string {
	parts := mistypedScheme.FindStringSubmatch(s)
	if parts == nil {
		return ""
	}
	written, scheme := strings.ToLower(parts[1]), "http"
	if strings.Contains(written, "s") {
		scheme = "https"
	}
	if !cli.IsNear(written, scheme) {
		return ""
	}
	return scheme + "://" + parts[2]
}

// mistypedScheme does not match a directory such as http/a.
var mistypedScheme = regexp.MustCompile(`^([A-Za-z]{3,})(?::|[:;/]{2,})([^:;/].*)$`)

// meantSite guesses the URL that the user meant by s, a text without a scheme,
// such as example.com/a or localhost:8080. If s does not begin with the name or
// the address of a site, meantSite returns "".
func meantSite(s string) string {
	host, _, _ := strings.Cut(s, "/")
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	switch suffix, known := publicsuffix.PublicSuffix(name); {
	case name == "localhost" || net.ParseIP(name) != nil:
		return "http://" + s
	case !known || len(suffix) == len(name):
		return ""
	case port != "" && port != "443":
		return "http://" + s
	}
	return "https://" + s
}

// CheckScheme returns a UsageError if a target that should be a URL or a path
// is mistyped. Either its scheme is mistyped, as in htps://, or the scheme is
// missing before the name of a site, as in example.com/a. Without this check,
// the target would seem to be allowed, because no rule would match it.
func CheckScheme(target string) error {
	scheme, _, isURL := strings.Cut(target, "://")
	if isURL && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		return nil
	}
	meant := MeantURL(target)
	if meant == "" && !isURL && !strings.HasPrefix(target, "/") {
		meant = meantSite(target)
	}
	if meant != "" {
		return Usagef("%q is not a URL; did you mean %s?", target, meant)
	}
	return nil
}

// ParseURL parses a URL that can be fetched: http or https, with a host. The
// error is a UsageError.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, UsageError(err.Error())
	case u.Scheme != "http" && u.Scheme != "https" && MeantURL(s) != "":
		return nil, Usagef("%q: unknown scheme %q; did you mean %s?", s, u.Scheme, MeantURL(s))
	case !weburl.IsAbsolute(u):
		return nil, Usagef("%q: must be an http or https URL with a host", s)
	}
	return u, nil
}
