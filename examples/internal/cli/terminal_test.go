package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

func TestTerminal_OtherWriters(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, w := range map[string]io.Writer{
		"a file":   file,
		os.DevNull: null,
		"a buffer": new(bytes.Buffer),
	} {
		if got := Terminal(w); got != nil {
			t.Errorf("Terminal of %s is %v, want nil", name, got)
		}
	}
}

// The commands print lines of a robots.txt, which may contain any bytes.
// Printable escapes those that could control the terminal.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"Disallow: /a*b$":            "Disallow: /a*b$",
		"Disallow: /ツ":               "Disallow: /ツ",
		"Disallow: /caf\u00e9\"":     "Disallow: /caf\u00e9\"",
		"Disallow: /\x1b[2J\x1b[31m": `Disallow: /\x1b[2J\x1b[31m`,
		"Disallow: /\"\x00":          `Disallow: /"\x00`,
		"Disallow: /\xff":            `Disallow: /\xff`,
		"Disallow: /\u202egpj.exe":   `Disallow: /\u202egpj.exe`,
		strings.Repeat("ä", 1<<20):   strings.Repeat("ä", 100) + "…",
	} {
		if got := Printable(text, 100); got != want {
			t.Errorf("Printable(%.40q, 100) is %q, want %q", text, got, want)
		}
	}
}
