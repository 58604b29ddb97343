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
			got = append(got, line)
			if n != len(got) {
				t.Errorf("Lines of %.40q yields the number %d, want %d", text, n, len(got))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("Lines of %.40q yields %q, want %q", text, got, want)
		}
	}
	for range Parse([]byte("a\nb")).Lines() {
		break // Lines must not call yield again after this
	}
	body := []byte("User-agent: *\r\n\rDisallow: /a\r\n\nDisallow: /b")
	m := Parse(body).Rules("ExampleBot").Match("/b")
	for n, line := range Parse(body).Lines() {
		if n == m.Line && line != "Disallow: /b" {
			t.Errorf("the deciding line %d is %q, want %q", m.Line, line, "Disallow: /b")
		}
	}
}

// TestTruncated checks that a file of exactly MaxSize bytes is parsed as a
// whole, and that the last lines of a longer file are ignored. A byte order
// mark is part of the MaxSize bytes. Otherwise, a caller that reads MaxSize+1
// bytes could not detect a longer file.
func TestTruncated(t *testing.T) {
	const rule = "Disallow: /\n"
	head := "User-agent: *\n"
	// fill returns a file of n bytes, with a comment before its last line.
	fill := func(n int) string {
		comment := strings.Repeat("#", n-len(head)-len(rule)-1) + "\n"
		return head + comment + rule
	}
	for _, tt := range []struct {
		name, text         string
		truncated, allowed bool
	}{
		{"empty", "", false, true},
		{"the maximum size", fill(MaxSize), false, false},
		{
			name: "the maximum size with a byte order mark",
			text: "\ufeff" + fill(MaxSize-len("\ufeff")),
		},
		{
			name:      "a byte too long because of a byte order mark",
			text:      "\ufeff" + fill(MaxSize-len("\ufeff")+1),
			truncated: true,
			allowed:   true,
		},
		{"a byte too long", fill(MaxSize + 1), true, true},
		{"much too long", fill(2 * MaxSize), true, true},
	} {
		f := Parse([]byte(tt.text))
		if got := f.Truncated(); got != tt.truncated {
			t.Errorf("%s: Truncated() = %t, want %t", tt.name, got, tt.truncated)
		}
		if got := f.Rules().Allowed("/"); got != tt.allowed {
			t.Errorf("%s: Allowed(/) = %t, want %t", tt.name, got, tt.allowed)
		}
	}
}
