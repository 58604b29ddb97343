package robotsmeta

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		h.Add("X-Robots-Tag", line)
	}
	return h
}

// summary returns the directives of d, mostly by their names, separated by
// blanks.
func summary(d Directives) string {
	var words []string
	add := func(isSet bool, word string) {
		if isSet {
			words = append(words, word)
		}
	}
	add(d.flags&noIndex != 0, "noindex")
	add(d.flags&noIndex == 0 && d.NoIndex(), "expired")
	add(d.NoFollow(), "nofollow")
	add(d.Says("noarchive"), "noarchive")
	add(d.flags&noSnippet != 0, "nosnippet")
	add(d.Says("noai"), "noai")
	add(d.Limit("max-snippet") != "" && d.Limit("max-snippet") != "-1", "max-snippet")
	if t, ok := d.UnavailableAfter(); ok {
		add(true, t.Format("2006-01-02T15:04:05.999"))
	}
	return strings.Join(words, " ")
}

func TestXRobotsTag(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		agent string
		want  string
	}{
		{
			name:  "the robot of the first scope",
			lines: []string{"googlebot: nofollow, otherbot: noindex, nofollow"},
			agent: "googlebot",
			want:  "nofollow",
		},
		{
			name:  "the robot of the second scope",
			lines: []string{"googlebot: nofollow, otherbot: noindex, nofollow"},
			agent: "otherbot",
			want:  "noindex nofollow",
		},
		{
			name:  "a robot without a scope",
			lines: []string{"googlebot: nofollow, otherbot: noindex, nofollow"},
			agent: "x",
		},
		{
			name:  "a scope after several directives for another robot",
			lines: []string{"BadBot: noindex, nofollow, googlebot: nofollow"},
			agent: "googlebot",
			want:  "nofollow",
		},
		{
			name:  "directives for all robots before a scope",
			lines: []string{"noindex, Googlebot-News: nofollow"},
			agent: "googlebot",
			want:  "noindex",
		},
		{
			name:  "a directive with a value",
			lines: []string{"max-snippet: 20, noindex"},
			agent: "any",
			want:  "noindex max-snippet",
		},
		{
			name:  "a date with colons",
			lines: []string{"noindex, unavailable_after: 25 Jun 2010 15:00:00 PST"},
			agent: "any",
			want:  "noindex 2010-06-25T23:00:00",
		},
		{
			name:  "a date with commas",
			lines: []string{"googlebot: unavailable_after: 2045-06-25T15:00:00,5-08:00, noindex"},
			agent: "googlebot",
			want:  "noindex 2045-06-25T23:00:00.5",
		},
		{
			name:  "a date with a weekday before a scope",
			lines: []string{"unavailable_after: Friday, 25-Jun-10 15:00:00 PST, bingbot: noindex"},
			agent: "bingbot",
			want:  "noindex 2010-06-25T23:00:00",
		},
		{
			name:  "a name that begins with a digit after a date",
			lines: []string{"unavailable_after: 2024-01-01, 360Spider: noindex"},
			agent: "360spider",
			want:  "noindex 2024-01-01T00:00:00",
		},
		{"a star as scope", []string{"*: noindex"}, "any", "noindex"},
		{"index after noindex", []string{"noindex", "mybot: index"}, "mybot", "noindex"},
		{
			name:  "a robot without a scope after several directives",
			lines: []string{"googlebot: index, noai"},
			agent: "spawningbot",
		},
		{
			name:  "a second line without a scope",
			lines: []string{"googlebot: nofollow", "noindex"},
			agent: "other",
			want:  "noindex",
		},

		{"white space between directives", []string{"noindex nofollow"}, "any", "noindex nofollow"},
		{
			name:  "semicolons between directives",
			lines: []string{"googlebot: nofollow; otherbot: noindex, nofollow"},
			agent: "otherbot",
			want:  "noindex nofollow",
		},
		{
			name:  "a directive and a scope without a comma",
			lines: []string{"noindex otherbot: nofollow"},
			agent: "x",
			want:  "noindex",
		},
		{"a name of two words", []string{"Algolia crawler: noindex"}, "algolia crawler", "noindex"},
		{
			name:  "a name with a version",
			lines: []string{"ExampleBot/2.1: noindex"},
			agent: "ExampleBot/3.0",
			want:  "noindex",
		},
		{"a directive with a colon", []string{"noindex: true"}, "any", "noindex"},
		{"all as scope", []string{"googlebot: all, all: noindex"}, "any", "noindex"},
		{"a value that is a directive", []string{"max-image-preview: noindex"}, "any", "noindex"},
		{
			name:  "an invalid date before a directive",
			lines: []string{"unavailable_after: Wednesdy, 3 Dec 2025 13:00:00 GMT, noindex"},
			agent: "any",
			want:  "noindex",
		},
		{
			name:  "a date with an unknown time zone",
			lines: []string{"unavailable_after: 25 Jun 2010 15:00:00 XYZT, nofollow"},
			agent: "any",
			want:  "expired nofollow 2010-06-25T15:00:00",
		},
		{
			name:  "a directive after a date without a comma",
			lines: []string{"unavailable_after: 25 Jun 2010 15:00:00 PST noindex"},
			agent: "any",
			want:  "noindex 2010-06-25T23:00:00",
		},
		{
			name:  "misspelled directives with values",
			lines: []string{"unavailable-after: 2001-01-01, noindex", "max_snippet: 0, nofollow", "Max Image Preview: none"},
			agent: "any",
			want:  "noindex nofollow",
		},
		{
			name:  "a directive before a misspelled one",
			lines: []string{"nofollow unavailable-after: 2001-01-01T10:00:00Z"},
			agent: "any",
			want:  "nofollow",
		},
		{
			name:  "names that begin like directives",
			lines: []string{"maxsnippetbot: noindex, max: nofollow"},
			agent: "any",
		},
		{"a misspelled directive", []string{"noindex,nofllow"}, "any", "noindex"},
		{"a longer name", []string{"googlebot-news: noindex"}, "googlebot", ""},
		{
			name:  "several dates",
			lines: []string{"unavailable_after: 2045-01-01", "unavailable_after: 2044-01-01, unavailable_after: 2046-01-01"},
			agent: "any",
			want:  "2044-01-01T00:00:00",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := summary(ParseHeader(header(test.lines...), test.agent)); got != test.want {
				t.Errorf("ParseHeader(%q, %q) = %q, want %q",
					test.lines, test.agent, got, test.want)
			}
		})
	}
}

// TestParser_Truncate checks that truncate removes the comma before the removed
// part, which may be the byte after the limit.
func TestParser_Truncate(t *testing.T) {
	for n, want := range []string{"", "", "ab", "ab", "ab", "ab,cd", "ab,cd", "ab,cd,e"} {
		var p parser
		const text = "ab,cd,e"
		if got := p.truncate(text, n); got != want {
			t.Errorf("truncate(%q, %d) = %q, want %q", text, n, got, want)
		}
		if got, want := p.Truncated(), n < len(text); got != want {
			t.Errorf("Truncated() after truncate(%q, %d) = %t, want %t", text, n, got, want)
		}
	}
}

// TestDirectives_Memory checks that Directives do not retain the texts of 500
// KB from which they were parsed.
func TestDirectives_Memory(t *testing.T) {
	for name, parse := range map[string]func(text string) Directives{
		"scopes and values": func(text string) Directives {
			return ParseHeader(header(text[:len("ExampleBot: max-snippet: 20, strange")]), "ExampleBot")
		},
		"unknown rules": func(text string) Directives {
			return ParseContent(text[len("ExampleBot: max-snippet: 20, "):][:len("strange")])
		},
		"names of metas": func(text string) Directives {
			i := strings.Index(text, "tdm-policy")
			return ParseMeta(text[i:][:len("tdm-policy")], "https://a.example/", 1)
		},
		"values of metas": func(text string) Directives {
			i := strings.Index(text, "tdm-policy")
			return ParseMeta("tdm-reservation", text[i:][:len("tdm-policy")], 1)
		},
	} {
		var kept []Directives
		before := testmain.Heap()
		for i := range 100 {
			text := fmt.Sprintf("ExampleBot: max-snippet: 20, strange, tdm-policy, %d", i)
			text += strings.Repeat("x", 500_000)
			kept = append(kept, parse(text))
		}
		if grown := testmain.Heap() - before; grown > 5<<20 {
			t.Errorf("%s: the directives of 100 texts take %d bytes, want at most 5 MiB",
				name, grown)
		}
		if len(kept[99].rules) == 0 {
			t.Errorf("%s: the directives of the last text have no rules, want some", name)
		}
		runtime.KeepAlive(kept)
	}
}
