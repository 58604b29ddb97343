package match

import "strings"

// pathAndQuery returns the path and query of a target, which is what rules
// match.
func pathAndQuery(target string) string {
	if target == "" || target[0] != '/' {
		target = AfterAuthority(target)
	}
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	return target
}

// AfterAuthority returns an absolute URL without its scheme and authority. It
// returns any other target unchanged.
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

// appendTarget appends a result of pathAndQuery in canonical form. It puts a
// "/" before a target that does not begin with one.
func appendTarget(dst []byte, target string) []byte {
	if target == "" || target[0] != '/' {
		dst = append(dst, '/')
	}
	inQuery := false
	for i := 0; i < len(target); i++ {
		if c := target[i]; isPlain(c) && c != '?' {
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
