package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/goodbots/courtesy/examples/internal/terminal"
)

// newJSON returns an encoder of one object a line.
func newJSON(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // URLs are full of &
	return enc
}

// newTable aligns cells, which tabs end. A column of numbers has tabwriter.AlignRight.
func newTable(w io.Writer, flags uint) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 8, 2, ' ', flags)
}

// printable is a stranger's text: a line of a robots.txt is shown whole, unless it is very long.
func printable(s string) string { return terminal.Printable(s, 400) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", thousands(n), noun)
}

// thousands writes a number as people do: 3,491.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
