package match

import (
	"math/bits"
	"strings"
)

// matchesLiteral reports whether a literal pattern matches a target. A literal
// pattern has no "*" except at its end. sure is false if the result depends on
// a byte of the target that may be different in canonical form. The result is
// then right only for a target that is in canonical form already.
func matchesLiteral(pattern, target string) (matches, sure bool) {
	if strings.HasPrefix(target, pattern) {
		return true, pattern[len(pattern)-1] != '$' // a final "$" means the end in a pattern, but it is literal in a target
	}
	return differsLiteral(strings.TrimRight(pattern, "*"), target)
}

// differsLiteral does the same as matchesLiteral, for a target that does not
// begin with the whole pattern. The first argument is the pattern without the
// "*" at its end.
func differsLiteral(literal, target string) (matches, sure bool) {
	n := commonPrefix(literal, target)
	switch {
	case n == len(literal):
		return true, true
	case n == len(target):
		return literal[n:] == "$", true
	default:
		return false, isPlain(target[n])
	}
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := load64(a[i:]) ^ load64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
