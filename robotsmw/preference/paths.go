package preference

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// maxPattern is how many bytes a path of a TDMRep or RSL file may have.
const maxPattern = 64 << 10

// matches reports whether a pattern of robots.txt matches the target. It asks
// the matcher of robotstxt, so escapes, "*" and "$" mean the same here. No
// pattern matches /robots.txt itself, which is always allowed.
func matches(pattern, target string) bool { return !allowed("Disallow: "+line(pattern), target) }

// longer reports whether the pattern a is longer than the pattern b. Both
// patterns must match the target. The function asks the matcher of robotstxt,
// in which a Disallow overrides an Allow only if the Disallow is longer.
func longer(a, b, target string) bool {
	return !allowed("Allow: "+line(b)+"\nDisallow: "+line(a), target)
}

func allowed(rules, target string) bool {
	return robotstxt.Parse([]byte("User-agent: *\n" + rules + "\n")).Rules().Allowed(target)
}

// line escapes the characters of a pattern that cannot stand in a line of
// robots.txt. A pattern from a robots.txt has none of them.
func line(pattern string) string {
	return strings.NewReplacer("#", "%23", "\n", "%0A", "\r", "%0D").Replace(pattern)
}
