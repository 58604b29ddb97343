package match

// A pattern is compared with a target from the target's first byte on. "*"
// stands for any bytes, or none. "$" as the last byte stands for the end of the
// target. All other bytes are literal (RFC 9309 §2.2.3).
//
// In memory, a pattern has the canonical form of escape.go. The longest pattern
// in this form is the most specific (§2.2.2). In this form, an escape counts as
// three bytes.

// isCanonical reports whether a pattern is surely in canonical form as it is
// written. Nearly all patterns are: they have no escapes, or only upper-case
// escapes of bytes that are not printable ASCII. special is the index of the
// first byte that does not stand for itself, or the pattern's length.
func isCanonical(pattern string) (special int, ok bool) {
	special = len(pattern)
	if arePlain(pattern) {
		return special, true
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case isPlain(c):
		case c == '*' || c == '$' && i == len(pattern)-1:
			special = min(special, i)
		default:
			value, ok := escapeAt(pattern, i)
			if !ok || isPrintable(value) || isLower(pattern[i+1]) || isLower(pattern[i+2]) {
				return 0, false
			}
			i += 2
		}
	}
	return special, true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// appendPattern converts a pattern to canonical form and appends it to dst.
//
// In the query of a target, "%2F" is the same as "/", and "%3F" is the same as
// "?". In the path, they differ. An escape after a "?" of the pattern is in the
// query. If neither "?" nor "*" comes before an escape, the escape is in the
// path. Any other "%2F" or "%3F" may match in the path or in the query, and
// appendPattern stores it as an eitherEscape.
func appendPattern(dst []byte, pattern string) []byte {
	inQuery, wild := false, false
	for i := 0; i < len(pattern); i++ {
		if c := pattern[i]; isPlain(c) && c != '?' {
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

// CanMatch reports whether a pattern can match anything. Every target begins
// with "/", so a pattern must begin with "/" or "*".
func CanMatch(pattern string) bool {
	return pattern != "" && (pattern[0] == '/' || pattern[0] == '*')
}
