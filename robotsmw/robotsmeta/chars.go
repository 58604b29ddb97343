package robotsmeta

import "strings"

const space = " \t\r\n\f"

func trim(s string) string {
	if s == "" || s[0] > ' ' && s[len(s)-1] > ' ' {
		return s // the usual case, and faster
	}
	return strings.Trim(s, space)
}

// indexOrLen returns the index of the first of these chars in s, or len(s).
func indexOrLen(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}

func isLetter(c byte) bool { return 'a' <= c|' ' && c|' ' <= 'z' }
