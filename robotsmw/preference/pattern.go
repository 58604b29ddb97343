package preference

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// maxPattern is the maximum size of a pattern in a TDMRep or RSL file, in
// bytes.
const maxPattern = 64 << 10

// matches reports whether a target matches a pattern, which is interpreted as
// in a rule of robots.txt. No pattern matches /robots.txt, because package
// robotstxt always allows that target.
func matches(pattern, target string) bool {
	return !allowed("Disallow: "+escapePattern(pattern), target)
}

// isLonger reports whether the pattern a is longer than the pattern b in the
// normalized form of package robotstxt. Both patterns must match the target: a
// Disallow overrides an Allow only if it is longer.
func isLonger(a, b, target string) bool {
	return !allowed("Allow: "+escapePattern(b)+"\nDisallow: "+escapePattern(a), target)
}

// appendLongest appends x to longest, whose elements have patterns of equal
// length, and returns the result. If the pattern of x is shorter or does not
// match the target, x is not appended. If the pattern of x is longer, x
// replaces all elements.
func appendLongest[T any](longest []T, x T, target string, pattern func(T) string) []T {
	p := pattern(x)
	if !matches(p, target) {
		return longest
	}
	if len(longest) > 0 {
		current := pattern(longest[0])
		if isLonger(current, p, target) {
			return longest
		}
		if isLonger(p, current, target) {
			longest = nil
		}
	}
	return append(longest, x)
}

func allowed(rules, target string) bool {
	return robotstxt.Parse([]byte("User-agent: *\n" + rules + "\n")).Rules().Allowed(target)
}

// escapePattern percent-encodes the characters of a pattern that a line of
// robots.txt cannot contain.
func escapePattern(pattern string) string { return patternEscaper.Replace(pattern) }

var patternEscaper = strings.NewReplacer("#", "%23", "\n", "%0A", "\r", "%0D")
