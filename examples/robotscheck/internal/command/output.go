package command

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/examples/internal/cli"
)

// Print prints a value: as a line of JSON, or as the text that it prints of
// itself.
func (e Env) Print(v interface{ Print(io.Writer) }, asJSON bool) {
	if asJSON {
		cli.NewEncoder(e.Stdout).Encode(v)
	} else {
		v.Print(e.Stdout)
	}
}

// Table prints rows below an empty line, or nothing if there is only the
// heading. It aligns the first column to the left and the others to the right.
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

// Printable makes text from servers safe to print. It keeps at most 400
// characters, so nearly every line of a robots.txt is shown in full.
func Printable(s string) string { return cli.Printable(s, 400) }

// Line returns ", line 7" for the number of a line, or "" for 0, which means
// that the line is not known.
func Line(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf(", line %d", number)
}
