package record

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestCause is how many bytes of an error's text are kept. The text may be
// long: a server can write megabytes into a status line, and the error then
// contains this line.
const longestCause = 300

// cleanCause returns text in the form that a Failure keeps. All characters are
// printable, and all white space is replaced by spaces. The result has at most
// [longestCause] bytes and shares no memory with text.
func cleanCause(text string) string {
	const more = "..."
	isLong := len(text) > longestCause
	cause := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, text[:min(len(text), longestCause)])
	if isLong || len(cause) > longestCause {
		return strings.ToValidUTF8(cause[:min(len(cause), longestCause-len(more))], "") + more
	}
	return cmp.Or(strings.Clone(cause), "no reason given") // if it were empty, it would seem that no fetch has failed
}
