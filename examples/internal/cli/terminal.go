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
	if file, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())) {
		return w
	}
	return nil
}

// EraseLine is printed on a terminal to erase the current line. The cursor is
// then at the beginning of the line.
const EraseLine = "\r\x1b[2K"

// A Progress is a line on a terminal that shows the progress of a long
// operation. Anything else that is printed there begins after a Clear.
type Progress struct {
	Terminal io.Writer // nil if there is none
	shown    time.Time // when the line was last shown; zero if it is not there
}

// Show shows the text, unless the line was shown less than 100 ms ago.
func (p *Progress) Show(text func() string) {
	if p.Terminal != nil && time.Since(p.shown) > 100*time.Millisecond {
		p.shown = time.Now()
		fmt.Fprintf(p.Terminal, "%s  %s\r", EraseLine, text())
	}
}

// Clear erases the line, if it is there.
func (p *Progress) Clear() {
	if !p.shown.IsZero() {
		p.shown = time.Time{}
		fmt.Fprint(p.Terminal, EraseLine)
	}
}

// Printable returns s in a form that is safe to print on a terminal. It escapes
// characters that cannot be printed, such as those that move the cursor. If s
// has more than the given number of runes, Printable cuts it.
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
