package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// NewEncoder returns an encoder for JSON lines that does not escape &, so that
// URLs are readable. It writes each line in a single Write. If the process is
// killed, only the last line of a file can be incomplete.
func NewEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// WriteFile writes a file atomically: other processes never see an incomplete
// one.
func WriteFile(name string, data []byte, mode fs.FileMode) error {
	temp := fmt.Sprintf("%s.%d", name, os.Getpid())
	err := os.WriteFile(temp, data, mode)
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// Noun returns the noun in the singular if n is 1, or else in the plural, such
// as "files" or "addresses".
func Noun(n int, noun string) string {
	if n == 1 {
		return noun
	}
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}

// Count returns a number with its noun, such as "1 file" or "3,491 files".
func Count(n int, noun string) string { return Thousands(n) + " " + Noun(n, noun) }

// Thousands formats n with commas, such as "3,491".
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
