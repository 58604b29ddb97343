package cli

import (
	"encoding/json"
	"io"
	"strings"
)

// NewEncoder returns an encoder for JSON lines, in which the & in a URL is
// readable. It writes each line in a single Write. So if the process is killed,
// a file ends with a whole line or with the beginning of one.
func NewEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// Noun returns a noun in the form that goes with a number: file, files;
// address, addresses.
func Noun(n int, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s"):
		return noun + "es"
	}
	return noun + "s"
}
