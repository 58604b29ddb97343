package robotsmeta

import "strings"

// space has the white space of HTML.
const space = " \t\r\n\f"

func isSpace(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '\f':
		return true
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|' ' && c|' ' <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// trim removes leading and trailing white space.
func trim(s string) string {
	if s == "" || s[0] > ' ' && s[len(s)-1] > ' ' {
		return s // fast path
	}
	return strings.Trim(s, space)
}

// indexFrom returns the index of the first of the chars in s[start:], or
// len(s).
func indexFrom(s string, start int, chars string) int {
	if i := strings.IndexAny(s[start:], chars); i >= 0 {
		return start + i
	}
	return len(s)
}

// equalASCII reports whether name equals the lower-case ASCII word, ignoring
// the case of ASCII letters. Unlike strings.EqualFold, it does not match other
// letters that fold to ASCII, such as U+017F to s, because HTML does not.
func equalASCII(name, word string) bool {
	return len(name) == len(word) && strings.EqualFold(name, word)
}
