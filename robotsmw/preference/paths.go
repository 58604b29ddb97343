package preference

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// matches reports whether a pattern of robots.txt matches the target. It asks
// the matcher of robotstxt, so that escapes, "*" and "$" mean the same here.
func matches(pattern, target string) bool { return !allowed("Disallow: "+line(pattern), target) }

// longer reports whether pattern a is longer than b. Both match the target. A
// Disallow overrides an Allow only if it is longer.
func longer(a, b, target string) bool {
	return !allowed("Allow: "+line(b)+"\nDisallow: "+line(a), target)
}

func allowed(rules, target string) bool {
	return robotstxt.Parse([]byte("User-agent: *\n" + rules + "\n")).Rules().Allowed(target)
}

// line escapes a pattern so that it fits into a line of robots.txt. A pattern
// from a robots.txt stays as it is.
func line(pattern string) string {
	return strings.NewReplacer("#", "%23", "\n", "%0A", "\r", "%0D").Replace(pattern)
}
