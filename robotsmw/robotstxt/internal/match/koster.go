package match

import "strings"

// appendKosterPath appends a path as the draft of 1996 normalizes it: all
// percent-encoded bytes except "%2F" are decoded. Because a decoded "%"
// followed by "2F" would be ambiguous, "%25" is not decoded either, and a "%"
// that does not begin a percent-encoded byte becomes "%25".
func appendKosterPath(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c, encoded := decodeAt(path, i)
		if encoded {
			i += 2
		} else {
			c = path[i]
		}
		switch {
		case c == '/' && encoded:
			dst = append(dst, "%2F"...)
		case c == '%':
			dst = append(dst, "%25"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendKosterTarget appends the normalized path of a target, without the
// query.
func appendKosterTarget(dst []byte, target string) []byte {
	target = pathAndQuery(target)
	if i := strings.IndexByte(target, '?'); i >= 0 {
		target = target[:i]
	}
	if target == "" || target[0] != '/' {
		dst = append(dst, '/')
	}
	return appendKosterPath(dst, target)
}
