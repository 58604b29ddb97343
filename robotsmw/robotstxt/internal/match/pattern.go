package match

// A pattern matches a target that begins with it. "*" matches any sequence of
// bytes, and a final "$" matches the end of the target. All other bytes are
// literal (RFC 9309 §2.2.3). In a normalized pattern, the special bytes are
// "*", "$" and eitherPercent.

// isNormalized reports whether a pattern is normalized, as nearly all patterns
// are. It has false negatives, but no false positives. special is the index of
// the first special byte of the pattern, or its length.
func isNormalized(pattern string) (special int, ok bool) {
	special = len(pattern)
	if isAllPlain(pattern) {
		return special, true
	}
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case isPlain(c):
		case c == '*', isFinalDollar(pattern, i):
			special = min(special, i)
		case isNormalizedEncoding(pattern, i):
			i += 2
		default:
			return 0, false
		}
	}
	return special, true
}

func isFinalDollar(pattern string, i int) bool {
	return pattern[i] == '$' && i == len(pattern)-1
}

// isNormalizedEncoding reports whether s[i:] begins with a percent-encoded byte
// that is not printable and whose digits are in upper case.
func isNormalizedEncoding(s string, i int) bool {
	c, ok := decodeAt(s, i)
	if !ok || isPrintable(c) {
		return false
	}
	return !isLower(s[i+1]) && !isLower(s[i+2])
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// appendPattern appends the normalized form of a pattern.
//
// Whether "%2F" and "%3F" differ from "/" and "?" depends on whether they are
// in the path or in the query, which is known only if a "?" precedes them in
// the pattern, or no "*" does. Otherwise, they are marked with eitherPercent.
func appendPattern(dst []byte, pattern string) []byte {
	inQuery := false
	afterStar := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if isPlain(c) && c != '?' {
			dst = append(dst, c)
			continue
		}
		if decoded, ok := decodeAt(pattern, i); ok {
			i += 2
			maybeInQuery := afterStar && !inQuery
			if maybeInQuery && (decoded == '/' || decoded == '?') {
				dst = append(dst, eitherPercent, upperhex[decoded>>4], upperhex[decoded&15])
			} else {
				dst = appendByte(dst, decoded, true, inQuery)
			}
			continue
		}
		switch {
		case c == '*':
			dst = append(dst, c)
			afterStar = true
		case isFinalDollar(pattern, i):
			dst = append(dst, c)
		default:
			dst = appendByte(dst, c, false, inQuery)
			inQuery = inQuery || c == '?'
		}
	}
	return dst
}

// CanMatch reports whether a pattern can match any target. Because every target
// begins with "/", the pattern must begin with "/" or "*".
func CanMatch(pattern string) bool {
	return pattern != "" && (pattern[0] == '/' || pattern[0] == '*')
}
