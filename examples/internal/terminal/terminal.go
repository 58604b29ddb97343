// Package terminal tells the commands whether they write to a terminal, and
// makes text from servers safe to print there.
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

// EraseLine is to be printed on a terminal. It moves the cursor to the
// beginning of the line and erases the line.
const EraseLine = "\r\x1b[2K"

// Printable returns s in a form that is safe to print on a terminal. Characters
// that cannot be printed, such as those that move the cursor, are escaped. If s
// has more runes than the argument most, the rest is cut off.
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
