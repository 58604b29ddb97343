// Package output has the forms in which the commands print: JSON lines, tables,
// counts, and the text of strangers.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/goodbots/courtesy/examples/internal/terminal"
)

// JSON returns an encoder of one object a line.
func JSON(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // URLs are full of &
	return enc
}

// Table aligns cells, which tabs end. A column of numbers has
// tabwriter.AlignRight.
func Table(w io.Writer, flags uint) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 8, 2, ' ', flags)
}

// Printable is a stranger's text: a line of a robots.txt is shown whole, unless
// it is very long.
func Printable(s string) string { return terminal.Printable(s, 400) }

// Count says how many there are: 1 file, 3,491 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", Thousands(n), noun)
}

// Thousands writes a number as people do: 3,491.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
