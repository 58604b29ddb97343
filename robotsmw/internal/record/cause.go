package record

import (
	"unicode"
	"unicode/utf8"
)

// longestCause is how many bytes of what went wrong are kept. A server can
// write megabytes into a status line, which then stand in an error.
const longestCause = 300

// causeOf returns a text as a Failure keeps it: printable, at most longestCause
// bytes long, and sharing no memory with the text. White space is a space in
// it.
func causeOf(text string) string {
	const more = "..."
	cause := make([]byte, 0, min(len(text), longestCause))
	fits := 0 // how much of the cause leaves room for more
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
	if len(cause) == 0 { // an error without words: with one, whoever reads it knows that it failed
		return "no reason given"
	}
	return string(cause)
}
