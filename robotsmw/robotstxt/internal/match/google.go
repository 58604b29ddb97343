package match

import "strings"

// appendGooglePattern appends a pattern in the form in which Google's parser
// compares it: bytes beyond ASCII are escaped, and escapes have upper-case
// digits. A "$" before the last byte becomes a literalDollar.
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

// appendGoogleTarget appends a target in a form that is compared with patterns
// from appendGooglePattern. Bytes beyond ASCII become 0xff, which no pattern
// has, because in patterns they are escaped.
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

// googlePath returns the part of a URL that Google's parser takes as its path
// and query.
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

// directoryOfIndex returns a pattern for only the directory itself, if the
// given pattern is for the directory's index page. In Google's parser an Allow
// for the page also allows the directory.
func directoryOfIndex(pattern string) (directory string, ok bool) {
	i := strings.LastIndexByte(pattern, '/')
	if i < 0 || !strings.HasPrefix(pattern[i:], "/index.htm") {
		return "", false
	}
	return pattern[:i+1] + "$", true
}
