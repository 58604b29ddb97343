package record

import (
	"unicode"
	"unicode/utf8"
)

// longestCause is how many bytes of an error's text are kept. A server can
// write megabytes into a status line, and they end up in an error.
const longestCause = 300

// causeOf returns a text in the form that a Failure keeps: printable, with
// spaces for all white space, at most longestCause bytes long, and sharing no
// memory with text.
func causeOf(text string) string {
	const more = "..."
	cause := make([]byte, 0, min(len(text), longestCause))
	fits := 0 // how many bytes leave room for more
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
	if len(cause) == 0 { // without any words the record would not seem to have failed
		return "no reason given"
	}
	return string(cause)
}
