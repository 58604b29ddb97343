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

// GuessURL returns the URL that the user probably meant by s, in which the
// scheme http or https may be mistyped, as in htp://, https:/ or http//. If s
// does not begin with either scheme, mistyped or not, GuessURL returns "".
func GuessURL(s string) string {
	parts := mistypedScheme.FindStringSubmatch(s)
	if parts == nil {
		return ""
	}
	typed := strings.ToLower(parts[1])
	scheme := "http"
	if strings.Contains(typed, "s") {
		scheme = "https"
	}
	if !cli.IsNear(typed, scheme) {
		return ""
	}
	return scheme + "://" + parts[2]
}

// mistypedScheme does not match a directory such as http/a.
var mistypedScheme = regexp.MustCompile(`^([A-Za-z]{3,})(?::|[:;/]{2,})([^:;/].*)$`)

// guessSiteURL returns the URL that the user probably meant by s, which has no
// scheme, such as example.com/a or localhost:8080. If s does not begin with the
// name or the address of a site, guessSiteURL returns "".
func guessSiteURL(s string) string {
	host, _, _ := strings.Cut(s, "/")
	name, port, err := net.SplitHostPort(host)
	if err != nil { // there is no port
		name = host
		port = ""
	}
	if name == "localhost" || net.ParseIP(name) != nil {
		return "http://" + s
	}
	suffix, isKnown := publicsuffix.PublicSuffix(name)
	if !isKnown || suffix == name {
		return ""
	}
	if port != "" && port != "443" {
		return "http://" + s
	}
	return "https://" + s
}

// CheckScheme returns a UsageError if target should probably be a URL, but its
// scheme is mistyped, as in htps://, or missing, as in example.com/a. Without
// this check, the target would seem to be allowed, because no rule would match
// it.
func CheckScheme(target string) error {
	scheme, _, hasScheme := strings.Cut(target, "://")
	isHTTP := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
	if hasScheme && isHTTP {
		return nil
	}
	guess := GuessURL(target)
	isPath := strings.HasPrefix(target, "/")
	mayBeSite := !hasScheme && !isPath
	if guess == "" && mayBeSite {
		guess = guessSiteURL(target)
	}
	if guess != "" {
		return Usagef("%q is not a URL; did you mean %s?", target, guess)
	}
	return nil
}

// ParseURL parses a URL that can be fetched: http or https, with a host. The
// error is a UsageError.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, UsageError(err.Error())
	}
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	if guess := GuessURL(s); guess != "" && !isHTTP {
		return nil, Usagef("%q: unknown scheme %q; did you mean %s?", s, u.Scheme, guess)
	}
	if !weburl.IsAbsolute(u) {
		return nil, Usagef("%q: must be an http or https URL with a host", s)
	}
	return u, nil
}
