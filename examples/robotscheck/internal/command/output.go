package command

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/examples/internal/cli"
)

// Print prints v as a line of JSON or, if asJSON is false, with its method
// Print.
func (e Env) Print(v interface{ Print(io.Writer) }, asJSON bool) {
	if asJSON {
		cli.NewEncoder(e.Stdout).Encode(v)
	} else {
		v.Print(e.Stdout)
	}
}

// Table prints an empty line and the rows, the first of which is the heading.
// If there is no other row, it prints nothing. The first column is aligned to
// the left, and the others to the right.
func Table(w io.Writer, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintln(w)
	for _, row := range rows {
		line := fmt.Sprintf("%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// Printable makes text from servers safe to print. It truncates text to 400
// characters, which is more than nearly all lines of robots.txt files have.
func Printable(s string) string { return cli.Printable(s, 400) }

// Line returns a text such as ", line 7", or "" if number is 0, which means
// that the line is unknown.
func Line(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf(", line %d", number)
}
