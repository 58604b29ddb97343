package match

import "strings"

// pathAndQuery returns the part of a target that rules match: the path and the
// query.
func pathAndQuery(target string) string {
	if target == "" || target[0] != '/' {
		target = AfterAuthority(target)
	}
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	return target
}

// AfterAuthority returns an absolute URL without its scheme and authority. Any
// other target is returned as it is.
func AfterAuthority(target string) string {
	i := strings.Index(target, "://")
	if i < 0 || strings.ContainsAny(target[:i], "/?#") {
		return target
	}
	target = target[i+len("://"):]
	if i = strings.IndexAny(target, "/?#"); i < 0 {
		return ""
	}
	return target[i:]
}

// appendTarget appends in canonical form what pathAndQuery returned. The result
// begins with "/".
func appendTarget(dst []byte, target string) []byte {
	if target == "" || target[0] != '/' {
		dst = append(dst, '/')
	}
	inQuery := false
	for i := 0; i < len(target); i++ {
		if c := target[i]; isPlain(c) && c != '?' { // nearly all bytes
			dst = append(dst, c)
			continue
		}
		if c, ok := escapeAt(target, i); ok {
			dst = appendByte(dst, c, true, inQuery)
			i += 2
			continue
		}
		dst = appendByte(dst, target[i], false, inQuery)
		inQuery = inQuery || target[i] == '?'
	}
	return dst
}
