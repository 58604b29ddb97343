package audit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A line, or a URL, is shortened within a rune of three bytes. The incomplete
// rune must not remain at the end.
func TestShorten_WholeRunes(t *testing.T) {
	for offset := range 3 {
		long := strings.Repeat("a", offset) + strings.Repeat("€", maxURL)
		if got := shorten([]byte(long)); !utf8.ValidString(got) {
			t.Errorf("shorten with the first rune at byte %d = %q, want valid UTF-8", offset, got)
		}
		if got := (Violation{URL: long}).clone().URL; !utf8.ValidString(got) {
			t.Errorf("URL of clone with the first rune at byte %d = %q, want valid UTF-8", offset, got)
		}
	}
}
