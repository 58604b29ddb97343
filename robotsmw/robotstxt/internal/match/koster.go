package match

import "strings"

// appendKosterPath appends a path in the form in which the robots.txt draft of
// 1996 compares paths. Escapes are decoded, except that "%2F" and "%25" stay. A
// "%" that is no escape becomes "%25", so that every "%" in this form begins an
// escape.
func appendKosterPath(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c, escaped := escapeAt(path, i)
		if escaped {
			i += 2
		} else {
			c = path[i]
		}
		switch {
		case c == '/' && escaped:
			dst = append(dst, "%2F"...)
		case c == '%':
			dst = append(dst, "%25"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendKosterTarget appends the path of a target in the form of
// appendKosterPath.
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
