package robotstxt

import (
	"slices"
	"strings"
	"testing"
)

// TestLines checks that [File.Lines] and [Match] count lines in the same way,
// for all kinds of line ends (RFC 9309 §2.2).
func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   nil,
		"\n":                                 {""},
		"a":                                  {"a"},
		"a\nb\n":                             {"a", "b"},
		"a\r\nb\rc\n\rd":                     {"a", "b", "c", "", "d"},
		"\xef\xbb\xbfa\n":                    {"a"},
		"a\n\n":                              {"a", ""},
		"a # b\n":                            {"a # b"},
		"a\n" + strings.Repeat("b", MaxSize): {"a"},
	} {
		var got []string
		for n, line := range Parse([]byte(text)).Lines() {
			if got = append(got, line); n != len(got) {
				t.Errorf("%.40q: line %d is given as %d", text, len(got), n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
	for range Parse([]byte("a\nb")).Lines() {
		break // Lines must not call yield again after this
	}
	body := []byte("User-agent: *\r\n\rDisallow: /a\r\n\nDisallow: /b")
	m := Parse(body).Rules("ExampleBot").Match("/b")
	for n, line := range Parse(body).Lines() {
		if n == m.Line && line != "Disallow: /b" {
			t.Errorf("line %d decides, which is %q", m.Line, line)
		}
	}
}

// A file of exactly MaxSize bytes is read whole. In one that is a byte longer,
// the lines at the end do not count, and Truncated returns true. A byte order
// mark is part of the MaxSize bytes, because a caller that reads one byte more
// could not detect a longer file otherwise.
func TestTruncated(t *testing.T) {
	const rule = "Disallow: /\n"
	head := "User-agent: *\n"
	fill := func(n int) string { return head + strings.Repeat("#", n-len(head)-len(rule)-1) + "\n" + rule }
	for _, tt := range []struct {
		name, text         string
		truncated, allowed bool
	}{
		{"empty", "", false, true},
		{"as long as may be", fill(MaxSize), false, false},
		{"with a byte order mark", "\ufeff" + fill(MaxSize-len("\ufeff")), false, false},
		{
			name:      "a byte too long with the byte order mark",
			text:      "\ufeff" + fill(MaxSize-len("\ufeff")+1),
			truncated: true,
			allowed:   true,
		},
		{"a byte too long", fill(MaxSize + 1), true, true},
		{"much too long", fill(2 * MaxSize), true, true},
	} {
		f := Parse([]byte(tt.text))
		if f.Truncated() != tt.truncated || f.Rules().Allowed("/") != tt.allowed {
			t.Errorf("%s: truncated %v, allowed %v", tt.name, f.Truncated(), f.Rules().Allowed("/"))
		}
	}
}
