package preference

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// matches reports whether a pattern of robots.txt matches the target. The
// question is put to the matcher of robotstxt itself, so that escapes, "*" and
// "$" mean the same here.
func matches(pattern, target string) bool { return !allowed("Disallow: "+line(pattern), target) }

// longer reports whether pattern a, which matches the target as b does, is the
// longer one: a Disallow wins against an Allow by length alone.
func longer(a, b, target string) bool {
	return !allowed("Allow: "+line(b)+"\nDisallow: "+line(a), target)
}

func allowed(rules, target string) bool {
	return robotstxt.Parse([]byte("User-agent: *\n" + rules + "\n")).Rules().Allowed(target)
}

// line makes a pattern fit for a line of robots.txt. One from there is already.
func line(pattern string) string {
	return strings.NewReplacer("#", "%23", "\n", "%0A", "\r", "%0D").Replace(pattern)
}
