// Package terminal is what the commands need to know of what they write to:
// whether a person watches, and how to show that person the text of strangers.
package terminal

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Is reports whether w is a terminal that can erase a line.
func Is(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// EraseLine takes back what stands in the line and goes to its beginning.
const EraseLine = "\r\x1b[2K"

// Printable is a stranger's text, made fit for a terminal: it cannot move the
// cursor, and has an end after so many runes.
func Printable(s string, most int) string {
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
