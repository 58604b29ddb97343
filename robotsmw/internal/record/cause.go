package record

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCauseBytes limits how much of an error's text is kept. The text may be
// long because a server can write megabytes into a status line, which the error
// contains.
const maxCauseBytes = 300

// cleanCause returns text in the form that a Failure keeps. All characters are
// printable, and all white space is replaced by spaces. The result has at most
// [maxCauseBytes] bytes and shares no memory with text.
func cleanCause(text string) string {
	const more = "..."
	isLong := len(text) > maxCauseBytes
	cause := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text[:min(len(text), maxCauseBytes)])
	if isLong || len(cause) > maxCauseBytes {
		return strings.ToValidUTF8(cause[:min(len(cause), maxCauseBytes-len(more))], "") + more
	}
	// An empty cause would mean that no fetch has failed.
	return cmp.Or(strings.Clone(cause), "no reason given")
}
