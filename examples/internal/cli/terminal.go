package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Terminal returns w if it is a terminal that can erase a line, or else nil.
func Terminal(w io.Writer) io.Writer {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil
	}
	if !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return w
}

// EraseLine is printed on a terminal to erase the current line. The cursor is
// then at the beginning of the line.
const EraseLine = "\r\x1b[2K"

// A Progress is a line on a terminal that shows the progress of a long
// operation. Callers must call Clear before they print anything else.
type Progress struct {
	Terminal io.Writer // nil if there is none
	updated  time.Time // zero if the terminal does not show the line
}

// Show replaces the line by text, unless it was replaced less than 100 ms ago.
func (p *Progress) Show(text func() string) {
	if p.Terminal != nil && time.Since(p.updated) > 100*time.Millisecond {
		p.updated = time.Now()
		fmt.Fprintf(p.Terminal, "%s  %s\r", EraseLine, text())
	}
}

// Clear erases the line.
func (p *Progress) Clear() {
	if !p.updated.IsZero() {
		p.updated = time.Time{}
		fmt.Fprint(p.Terminal, EraseLine)
	}
}

// Printable returns s in a form that is safe to print on a terminal. It escapes
// unprintable characters, such as those that move the cursor. If s has more
// than maxRunes characters, Printable truncates it and adds an ellipsis.
func Printable(s string, maxRunes int) string {
	if utf8.RuneCountInString(s) > maxRunes {
		s = string([]rune(s)[:maxRunes]) + "…"
	}
	isUnprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, isUnprintable) {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
