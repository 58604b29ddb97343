package match

// According to RFC 9309 §2.2.2, paths are compared byte by byte after their
// percent-encoding has been normalized. In the normalized form:
//
//   - a printable ASCII byte is literal: "~" for "%7E", ":" for "%3A";
//   - as an exception, "%2F", "%3F", "%23" and "%25" are unchanged, because a
//     literal "/", "?", "#" or "%" has a special meaning. In the query, "/" and
//     "?" are not special, so that "%2F" becomes "/" and "%3F" becomes "?";
//   - any other byte (a control character, a space, a byte outside of ASCII) is
//     percent-encoded with upper-case digits: "%E3%83%84" for "ツ" and
//     "%e3%83%84";
//   - a "%" that is not followed by two hexadecimal digits is unchanged.
//
// Because the normalized form consists of printable ASCII bytes, other byte
// values are available for special purposes. In patterns, "*" and "$" remain
// special, so that the most common patterns are stored without change; a
// literal "*" or "$" is represented by another byte value, both in patterns and
// in targets.
const (
	literalStar   = 0x80 // in targets: "*" or "%2A"; in patterns: "%2A"
	literalDollar = 0x81 // in targets: "$" or "%24"; in patterns: "%24", or a "$" that is not final
	eitherPercent = 0x82 // in patterns: the "%" of a "%2F" or "%3F" that may be in path or query
)

const upperhex = "0123456789ABCDEF"

// appendByte appends the normalized form of a byte. encoded reports whether the
// byte was percent-encoded, and inQuery whether it is in the query.
func appendByte(dst []byte, c byte, encoded, inQuery bool) []byte {
	if c == '*' {
		return append(dst, literalStar)
	}
	if c == '$' {
		return append(dst, literalDollar)
	}
	mustEncode := encoded && isReserved(c, inQuery)
	if isPrintable(c) && !mustEncode {
		return append(dst, c)
	}
	return appendEncoded(dst, c)
}

// appendEncoded appends a percent-encoded byte.
func appendEncoded(dst []byte, c byte) []byte {
	return append(dst, '%', upperhex[c>>4], upperhex[c&15])
}

// isPrintable reports whether a byte is printable ASCII other than a space.
func isPrintable(c byte) bool { return '!' <= c && c <= '~' }

// isReserved reports whether a byte differs in meaning from its percent-encoded
// form.
func isReserved(c byte, inQuery bool) bool {
	switch c {
	case '#', '%':
		return true
	case '/', '?':
		return !inQuery
	}
	return false
}

// decodeAt decodes the percent-encoded byte that begins at s[i]. ok is false if
// there is none.
func decodeAt(s string, i int) (c byte, ok bool) {
	if s[i] != '%' {
		return 0, false
	}
	return decode(s[i:])
}

// decode decodes the percent-encoded byte at the beginning of s, which must
// begin with "%". ok is false unless two hexadecimal digits follow.
func decode(s string) (c byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	hi, lo := unhex(s[1]), unhex(s[2])
	return hi<<4 | lo, hi < 16 && lo < 16
}

// unhex returns the value of a hexadecimal digit, or 16 for any other byte.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}

// isPlain reports whether a byte is normalized, regardless of the bytes around
// it. It is a fast check that is false for some normalized bytes, such as "!".
func isPlain(c byte) bool { return plainBytes[c] }

var plainBytes = func() (plain [256]bool) {
	for c := '%' + 1; c < 0x7f; c++ {
		plain[c] = c != '*'
	}
	return plain
}()

const (
	lowBits  = 0x0101010101010101 // the lowest bit of each byte of a word
	highBits = 0x8080808080808080 // the highest bit of each byte of a word
)

// isAllPlain reports whether isPlain is true for all bytes of s. It checks
// eight bytes at a time.
func isAllPlain(s string) bool {
	for len(s) >= 8 {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		// In below, del and star, the highest bit of a byte is set if the byte
		// of x is less than '%'+1, DEL, or '*', respectively. Borrows and
		// carries begin only at such bytes, or at bytes outside of ASCII, so
		// the lowest of these bytes is always detected.
		below := x - lowBits*('%'+1)
		del := x + lowBits
		star := (x ^ lowBits*'*') - lowBits
		if (x|below|del|star)&highBits != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if !isPlain(s[i]) {
			return false
		}
	}
	return true
}
