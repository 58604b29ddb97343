// Package output prints JSON lines, tables, counts and text from servers in the
// same way for all commands.
package output

import (
	"encoding/json"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/goodbots/courtesy/examples/internal/terminal"
)

// JSON returns an encoder that writes one object per line.
func JSON(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // keeps the & in URLs readable
	return enc
}

// Table returns a writer that aligns cells. Each cell must end with a tab. With
// the flag tabwriter.AlignRight, the writer aligns cells to the right.
func Table(w io.Writer, flags uint) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 8, 2, ' ', flags)
}

// Printable makes text from servers safe to print. It keeps at most 400
// characters, so nearly every line of a robots.txt is shown in full.
func Printable(s string) string { return terminal.Printable(s, 400) }

// Count returns a number with its noun, such as "1 file" or "3,491 files".
func Count(n int, noun string) string {
	return Thousands(n) + " " + Noun(n, noun)
}

// Noun returns a noun in the form that goes with a number: file, files.
func Noun(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// Thousands writes a number for people: 3,491.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
