package robotstxt

// RFC 9309 §2.2.2 compares paths octet by octet after both sides have been brought to one form. In that form
// an octet is written in one way alone:
//
//   - a printable ASCII octet as itself: "%7E" is "~", "%3A" is ":";
//   - except that "%2F", "%3F", "%23" and "%25" remain what they are, because a "/" that separates, a "?" that
//     begins the query, a "#" that begins the fragment and a "%" that escapes are not the same as data. In the
//     query "/" and "?" separate nothing, so there "%2F" is "/" and "%3F" is "?";
//   - every other octet (controls, the space, all beyond ASCII) as an escape with upper-case digits: "ツ" and
//     "%e3%83%84" are "%E3%83%84";
//   - a "%" that two hexadecimal digits do not follow escapes nothing, and is itself.

const upperhex = "0123456789ABCDEF"

// appendOctet appends one octet in that form. Escaped tells whether it was written as an escape.
func appendOctet(dst []byte, c byte, escaped, inQuery bool) []byte {
	if isPrintable(c) && !(escaped && isReserved(c, inQuery)) {
		return append(dst, c)
	}
	return append(dst, '%', upperhex[c>>4], upperhex[c&15])
}

// isPrintable reports whether an octet is a printable ASCII one. The space is not.
func isPrintable(c byte) bool { return '!' <= c && c <= '~' }

// isReserved reports whether an octet means one thing bare and another thing escaped.
func isReserved(c byte, inQuery bool) bool {
	switch c {
	case '#', '%':
		return true
	case '/', '?':
		return !inQuery
	}
	return false
}

// escapeAt returns the octet that is written as an escape at s[i:].
func escapeAt(s string, i int) (c byte, ok bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	hi, lo := unhex(s[i+1]), unhex(s[i+2])
	return hi<<4 | lo, hi < 16 && lo < 16
}

// unhex returns the value of a hexadecimal digit, and 16 for any other octet.
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
