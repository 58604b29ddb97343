package pagelinks

import (
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"
)

// space contains the white space characters of HTML.
const space = " \t\r\n\f"

// parseRefresh parses <meta http-equiv="refresh" content="5; url=/next"> more
// leniently than WHATWG HTML §4.2.5.3. ok is false if s is not a valid refresh.
// ref is "" if the refresh has no URL, which means the URL of the page. A delay
// of more than a day may be shortened, but not to less than a day.
func parseRefresh(s *goquery.Selection) (delay time.Duration, ref string, ok bool) {
	if !strings.EqualFold(strings.TrimSpace(s.AttrOr("http-equiv", "")), "refresh") {
		return 0, "", false
	}
	content := strings.TrimSpace(s.AttrOr("content", ""))
	delay, rest := parseDelay(content)
	if rest == content && !strings.HasPrefix(content, ".") {
		return 0, "", false
	}
	rest = strings.TrimLeft(rest, ".0123456789")
	rest = strings.TrimLeft(rest, "; ,\t\r\n\f")
	return delay, parseRefreshURL(rest), true
}

// parseDelay parses the digits at the beginning of s as a number of seconds,
// and returns the rest of s.
func parseDelay(s string) (delay time.Duration, rest string) {
	for s != "" && '0' <= s[0] && s[0] <= '9' {
		if delay < 24*time.Hour { // prevents an overflow
			delay = delay*10 + time.Duration(s[0]-'0')*time.Second
		}
		s = s[1:]
	}
	return delay, s
}

// parseRefreshURL parses `url=/next`, `url="/next"` or `/next`.
func parseRefreshURL(s string) string {
	if len(s) >= len("url") && strings.EqualFold(s[:len("url")], "url") {
		value, hasEqual := strings.CutPrefix(strings.TrimLeft(s[len("url"):], space), "=")
		if hasEqual {
			s = strings.TrimLeft(value, space)
		}
	}
	for _, quote := range []string{`"`, "'"} {
		if quoted, ok := strings.CutPrefix(s, quote); ok {
			s, _, _ = strings.Cut(quoted, quote)
			break
		}
	}
	return strings.TrimSpace(s)
}
