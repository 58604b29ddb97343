package match

import "strings"

// appendGooglePattern appends a pattern as Google's parser normalizes it: bytes
// outside of ASCII are percent-encoded, and the digits of percent-encoded bytes
// are changed to upper case.
func appendGooglePattern(dst []byte, pattern string) []byte {
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if _, ok := decodeAt(pattern, i); ok {
			dst = append(dst, '%', upper(pattern[i+1]), upper(pattern[i+2]))
			i += 2
			continue
		}
		switch {
		case c >= 0x80:
			dst = appendEncoded(dst, c)
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

// appendGoogleTarget appends a target in the form of appendGooglePattern.
// Because Google's parser does not encode the bytes of a target, those outside
// of ASCII must not match any pattern. They are replaced by 0xff, which no
// normalized pattern contains.
func appendGoogleTarget(dst []byte, target string) []byte {
	target = googlePath(target)
	if target == "" || target[0] != '/' {
		dst = append(dst, '/')
	}
	for _, c := range []byte(target) {
		switch {
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

// googlePath returns the part of a URL that Google's parser regards as its path
// and query.
func googlePath(url string) string {
	url = strings.TrimPrefix(url, "//")
	authority := 0
	if i := strings.Index(url, "://"); i >= 0 && !strings.ContainsAny(url[:i], "/?;") {
		authority = i + len("://")
	}
	i := strings.IndexAny(url[authority:], "/?;")
	if i < 0 {
		return ""
	}
	path := authority + i
	if strings.Contains(url[:path], "#") {
		return ""
	}
	withoutFragment, _, _ := strings.Cut(url[path:], "#")
	return withoutFragment
}

// googleIndexDirectory returns a pattern that matches only the directory of an
// index page, such as "/dir/$" for "/dir/index.html". In Google's parser, an
// Allow for the index page also allows the directory. ok is false if the
// pattern is not for an index page.
func googleIndexDirectory(pattern string) (directory string, ok bool) {
	i := strings.LastIndexByte(pattern, '/')
	if i < 0 || !strings.HasPrefix(pattern[i:], "/index.htm") {
		return "", false
	}
	return pattern[:i+1] + "$", true
}
