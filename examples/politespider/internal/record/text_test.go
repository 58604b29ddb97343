package record

import (
	"strings"
	"testing"
)

// A robots.txt may hold anything, and its lines are shown.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"Disallow: /a*b$":            "Disallow: /a*b$",
		"Disallow: /ツ":               "Disallow: /ツ",
		"Disallow: /\x1b[2J\x1b[31m": `Disallow: /\x1b[2J\x1b[31m`,
		"Disallow: /\xff":            `Disallow: /\xff`,
		"Disallow: /\u202egpj.exe":   `Disallow: /\u202egpj.exe`,
		strings.Repeat("/", 1<<20):   strings.Repeat("/", 100) + "...",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}
