package robotsmeta

import "strings"

// space contains the white space characters of HTML.
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

// indexFrom returns the index in s of the first character of s[start:] that is
// in chars, or len(s) if there is none.
func indexFrom(s string, start int, chars string) int {
	if i := strings.IndexAny(s[start:], chars); i >= 0 {
		return start + i
	}
	return len(s)
}

// equalASCII reports whether name equals the lower-case ASCII word, ignoring
// the case of ASCII letters. Like HTML, and unlike strings.EqualFold alone, it
// does not match other letters that fold to ASCII letters, such as U+017F,
// which folds to s. Such a letter has more than one byte, so that the lengths
// differ.
func equalASCII(name, word string) bool {
	return len(name) == len(word) && strings.EqualFold(name, word)
}
