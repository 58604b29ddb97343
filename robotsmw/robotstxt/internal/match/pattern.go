package match

import "strings"

// A pattern is matched from the target's first byte. "*" stands for any bytes,
// also for none, and "$", as the last byte, for the end of the target; all
// others are literal (RFC 9309 §2.2.3). In memory a pattern has the form of
// escape.go, in which its length is what the rule of the most specific match
// counts (§2.2.2): an escape that remains one is three bytes, everything else
// is one.

// isCanonical reports whether a pattern is in that form as it is written, as
// nearly all are: escapes in it are of what is no printable ASCII byte, with
// upper-case digits.
func isCanonical(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '%':
			value, ok := unescape(pattern[i:])
			if !ok || isPrintable(value) || isLower(pattern[i+1]) || isLower(pattern[i+2]) {
				return false
			}
			i += 2
		case !isPrintable(c) || c == '$' && i < len(pattern)-1:
			return false
		}
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// appendPattern appends a pattern in that form.
//
// Whether "%2F" is the same as "/" depends on where it is compared, in the path
// or in the query. Behind a "?" of the pattern that is the query, and before
// any "*" it is the path; between the two it is left open.
func appendPattern(dst []byte, pattern string) []byte {
	inQuery, wild := false, false
	for i := 0; i < len(pattern); i++ {
		if c := pattern[i]; isPlain(c) && c != '?' { // nearly all
			dst = append(dst, c)
			continue
		}
		if c, ok := escapeAt(pattern, i); ok {
			i += 2
			if (c == '/' || c == '?') && wild && !inQuery {
				dst = append(dst, eitherEscape, upperhex[c>>4], upperhex[c&15])
			} else {
				dst = appendByte(dst, c, true, inQuery)
			}
			continue
		}
		switch c := pattern[i]; {
		case c == '*':
			dst, wild = append(dst, c), true
		case c == '$' && i == len(pattern)-1:
			dst = append(dst, c)
		default:
			dst = appendByte(dst, c, false, inQuery)
			inQuery = inQuery || c == '?'
		}
	}
	return dst
}

// CanMatch reports whether a pattern can match anything: every target begins
// with "/".
func CanMatch(pattern string) bool {
	return pattern != "" && (pattern[0] == '/' || pattern[0] == '*')
}

// literalPart returns what a pattern without a wildcard that matters comes down
// to: a "*" at its end changes nothing but its length. ok is false for a
// pattern that does need its wildcards.
func literalPart(pattern string) (literal string, ok bool) {
	for pattern != "" && pattern[len(pattern)-1] == '*' {
		pattern = pattern[:len(pattern)-1]
	}
	return pattern, strings.IndexByte(pattern, '*') < 0
}

// needsWild reports whether a pattern is not one that literalPart is for. One
// that ends with several "*" could be, but none is worth it.
func needsWild(pattern string) bool {
	i := strings.IndexByte(pattern, '*')
	return i >= 0 && i < len(pattern)-1
}
