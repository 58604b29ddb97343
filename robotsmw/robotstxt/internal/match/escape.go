package match

// RFC 9309 §2.2.2 compares two paths byte by byte, after both have been brought
// into one form. This package calls it the canonical form. It has one way to
// write each byte:
//
//   - a printable ASCII byte is written as itself: "~" for "%7E", ":" for
//     "%3A";
//   - there are four exceptions: "%2F", "%3F", "%23" and "%25" stay as they
//     are, because an unescaped "/", "?", "#" or "%" has a special meaning. In
//     the query, "/" and "?" have no special meaning, so "%2F" becomes "/"
//     there, and "%3F" becomes "?";
//   - every other byte (a control, a space, a byte beyond ASCII) is written as
//     an escape with upper-case digits: "%E3%83%84" for "ツ" and "%e3%83%84";
//   - a "%" without two hexadecimal digits after it is no escape, and stays as
//     it is.
//
// The canonical form uses only printable ASCII, so other byte values are free
// for special meanings. In patterns, "*" and "$" keep their special meanings,
// so that the most common patterns are stored as written. A literal "*" or "$"
// becomes one of the other byte values, in patterns and in targets.
const (
	literalStar   = 0x80 // in a target: "*" or "%2A"; in a pattern: "%2A"
	literalDollar = 0x81 // in a target: "$" or "%24"; in a pattern: "%24", or a "$" before its end
	eitherEscape  = 0x82 // the "%" of a pattern's "%2F" or "%3F" that may match in path or query
)

const upperhex = "0123456789ABCDEF"

// appendByte appends one byte in canonical form. escaped says whether the byte
// was written as an escape, and inQuery whether it is in the query.
func appendByte(dst []byte, c byte, escaped, inQuery bool) []byte {
	switch {
	case c == '*':
		return append(dst, literalStar)
	case c == '$':
		return append(dst, literalDollar)
	case isPrintable(c) && !(escaped && isReserved(c, inQuery)):
		return append(dst, c)
	}
	return append(dst, '%', upperhex[c>>4], upperhex[c&15])
}

// isPrintable reports whether a byte is printable ASCII, except space.
func isPrintable(c byte) bool { return '!' <= c && c <= '~' }

// isReserved reports whether a byte and its escape have different meanings.
func isReserved(c byte, inQuery bool) bool {
	switch c {
	case '#', '%':
		return true
	case '/', '?':
		return !inQuery
	}
	return false
}

// escapeAt returns the byte that the escape at s[i:] stands for. ok is false if
// there is no escape.
func escapeAt(s string, i int) (c byte, ok bool) {
	if s[i] != '%' {
		return 0, false
	}
	return unescape(s[i:])
}

// unescape returns the byte that the escape at the beginning of s stands for. s
// must begin with "%". ok is false if two hexadecimal digits do not follow.
func unescape(s string) (c byte, ok bool) {
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

// isPlain reports whether a byte of a target is surely in canonical form
// already, whatever bytes are around it. If isPlain returns false, the byte may
// still be in canonical form. For example, "!" always is.
func isPlain(c byte) bool { return plainBytes[c] }

var plainBytes = func() (plain [256]bool) {
	for c := '%' + 1; c < 0x7f; c++ {
		plain[c] = c != '*'
	}
	return plain
}()

// ones has the value 1 in each of its eight bytes. highs has the value 0x80 in
// each.
const ones, highs = 0x0101010101010101, 0x8080808080808080

// arePlain reports whether isPlain is true for each byte. It looks at eight
// bytes at a time.
func arePlain(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		star := x ^ ones*'*'
		if (x|(x-ones*('%'+1))|(x+ones)|(star-ones))&highs != 0 {
			return false
		}
	}
	for i := range len(s) {
		if !isPlain(s[i]) {
			return false
		}
	}
	return true
}
