package match

import "strings"

// appendGooglePattern appends a pattern in the form that Google's parser
// compares: bytes beyond ASCII are escaped, and escapes have upper-case digits.
// A "$" that is not the last byte becomes a literalDollar.
func appendGooglePattern(dst []byte, pattern string) []byte {
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if _, ok := escapeAt(pattern, i); ok {
			dst = append(dst, '%', upper(pattern[i+1]), upper(pattern[i+2]))
			i += 2
			continue
		}
		switch {
		case c >= 0x80:
			dst = append(dst, '%', upperhex[c>>4], upperhex[c&15])
		case c == '$' && i < len(pattern)-1:
			dst = append(dst, literalDollar)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// appendGoogleTarget appends a target in a form that can be compared with
// patterns from appendGooglePattern. Bytes beyond ASCII become 0xff. No such
// pattern has this byte, because appendGooglePattern escapes bytes beyond
// ASCII.
func appendGoogleTarget(dst []byte, target string) []byte {
	target = googlePath(target)
	if target == "" || target[0] != '/' {
		dst = append(dst, '/')
	}
	for i := range len(target) {
		switch c := target[i]; {
		case c == '*':
			dst = append(dst, literalStar)
		case c == '$':
			dst = append(dst, literalDollar)
		case c >= 0x80:
			dst = append(dst, 0xff)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// googlePath returns the path and query of a URL as Google's parser finds them.
func googlePath(url string) string {
	url = strings.TrimPrefix(url, "//")
	start := 0
	if i := strings.Index(url, "://"); i >= 0 && !strings.ContainsAny(url[:i], "/?;") {
		start = i + len("://")
	}
	i := strings.IndexAny(url[start:], "/?;")
	if i < 0 || strings.Contains(url[:start+i], "#") {
		return ""
	}
	path, _, _ := strings.Cut(url[start+i:], "#")
	return path
}

// directoryOfIndex recognizes a pattern for the index page of a directory. It
// returns a pattern that matches only the directory itself. In Google's parser,
// an Allow for the page also allows the directory.
func directoryOfIndex(pattern string) (directory string, ok bool) {
	i := strings.LastIndexByte(pattern, '/')
	if i < 0 || !strings.HasPrefix(pattern[i:], "/index.htm") {
		return "", false
	}
	return pattern[:i+1] + "$", true
}
