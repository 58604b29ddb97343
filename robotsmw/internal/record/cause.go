package record

import (
	"unicode"
	"unicode/utf8"
)

// longestCause is how many bytes of an error's text are kept. The text may be
// long: a server can write megabytes into a status line, and the error then
// contains this line.
const longestCause = 300

// causeOf returns text in the form that a Failure keeps. All characters are
// printable, and all white space is replaced by spaces. The result has at most
// [longestCause] bytes and shares no memory with text.
func causeOf(text string) string {
	const more = "..."
	cause := make([]byte, 0, min(len(text), longestCause))
	fits := 0 // how many bytes of the cause are kept if "..." must follow
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r):
			r = utf8.RuneError
		}
		if len(cause) <= longestCause-len(more) {
			fits = len(cause)
		}
		if len(cause)+utf8.RuneLen(r) > longestCause {
			return string(cause[:fits]) + more
		}
		cause = utf8.AppendRune(cause, r)
	}
	if len(cause) == 0 { // if the cause were empty, it would seem that no fetch has failed
		return "no reason given"
	}
	return string(cause)
}
