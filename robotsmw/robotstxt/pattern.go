package robotstxt

import "strings"

// A pattern in the form of escape.go is made of printable ASCII octets. Those below stand for what is not one
// literal octet.
const (
	anything      = 0x00 // "*": any octets, also none (RFC 9309 §2.2.3)
	theEnd        = 0x01 // "$" as the last octet: the end of the target
	slashOrEscape = 0x02 // "%2F" that a wildcard may carry into the query: "%2F" before the "?", "/" after it
	queryOrEscape = 0x03 // the same for "%3F" and "?"
)

// appendPattern appends a pattern in that form, and returns its length for the rule that the most specific match
// counts (RFC 9309 §2.2.2): an escape that remains one is three octets, everything else is one.
func appendPattern(dst []byte, pattern string) (canonical []byte, length int) {
	inQuery, wild := false, false
	start, ambiguous := len(dst), 0
	for i := 0; i < len(pattern); i++ {
		if c, ok := escapeAt(pattern, i); ok {
			i += 2
			switch {
			case c == '/' && wild && !inQuery:
				dst, ambiguous = append(dst, slashOrEscape), ambiguous+1
			case c == '?' && wild && !inQuery:
				dst, ambiguous = append(dst, queryOrEscape), ambiguous+1
			default:
				dst = appendOctet(dst, c, true, inQuery)
			}
			continue
		}
		switch c := pattern[i]; {
		case c == '*':
			dst, wild = append(dst, anything), true
		case c == '$' && i == len(pattern)-1:
			dst = append(dst, theEnd)
		default:
			dst = appendOctet(dst, c, false, inQuery)
			inQuery = inQuery || c == '?'
		}
	}
	return dst, len(dst) - start + 2*ambiguous
}

// canMatch reports whether a pattern can match anything: every target begins with "/".
func canMatch(pattern string) bool {
	return strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "*")
}
