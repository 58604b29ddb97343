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

// IsTerminal reports whether w is a terminal that can erase a line.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// EraseLine is printed on a terminal to erase the current line. The cursor is
// then at the beginning of the line.
const EraseLine = "\r\x1b[2K"

// A Progress is a line on a terminal that says how much of a long work is done.
// Anything else that is printed there begins after a Clear. The zero Progress
// shows nothing.
type Progress struct {
	terminal io.Writer // nil if there is none
	text     func(done int, perSecond float64) string
	done     int
	began    time.Time
	shown    time.Time // when the line was last shown; or began
	isThere  bool
}

// NewProgress returns a Progress whose line has the given text. If w is no
// terminal, isTerminal is false, and nothing is shown.
func NewProgress(w io.Writer, isTerminal bool, text func(done int, perSecond float64) string) Progress {
	if !isTerminal {
		return Progress{}
	}
	now := time.Now()
	return Progress{terminal: w, text: text, began: now, shown: now}
}

// Add says that n more are done. It shows the line anew every 100 ms.
func (p *Progress) Add(n int) {
	if p.terminal == nil {
		return
	}
	p.done += n
	if time.Since(p.shown) > 100*time.Millisecond {
		p.shown, p.isThere = time.Now(), true
		fmt.Fprintf(p.terminal, "%s  %s\r", EraseLine, p.text(p.done, float64(p.done)/time.Since(p.began).Seconds()))
	}
}

// Clear erases the line, if it is there.
func (p *Progress) Clear() {
	if p.isThere {
		p.isThere = false
		fmt.Fprint(p.terminal, EraseLine)
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
