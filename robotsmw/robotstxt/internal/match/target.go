package match

import "strings"

// pathAndQuery returns the path and query of a target, which is what rules
// match.
func pathAndQuery(target string) string {
	if target == "" || target[0] != '/' {
		target = TrimAuthority(target)
	}
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	return target
}

// TrimAuthority removes the scheme and authority of an absolute URL. It returns
// any other target unchanged.
func TrimAuthority(target string) string {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return target
	}
	i := strings.IndexAny(rest, "/?#")
	if i < 0 {
		return ""
	}
	return rest[i:]
}

// appendTarget appends the normalized form of a result of pathAndQuery. If the
// target does not begin with a slash, appendTarget adds one.
func appendTarget(dst []byte, target string) []byte {
	if target == "" || target[0] != '/' {
		dst = append(dst, '/')
	}
	inQuery := false
	for i := 0; i < len(target); i++ {
		c := target[i]
		if isPlain(c) && c != '?' {
			dst = append(dst, c)
			continue
		}
		if decoded, ok := decodeAt(target, i); ok {
			dst = appendByte(dst, decoded, true, inQuery)
			i += 2
			continue
		}
		dst = appendByte(dst, c, false, inQuery)
		inQuery = inQuery || c == '?'
	}
	return dst
}
