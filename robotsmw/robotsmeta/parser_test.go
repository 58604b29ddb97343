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

// summary lists the directives of d, mostly by their names.
func summary(d Directives) string {
	s := ""
	add := func(on bool, word string) {
		if on {
			if s != "" {
				s += " "
			}
			s += word
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
	return s
}

func TestXRobotsTag(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		agent string
		want  string
	}{
		{
			name:  "a scope holds for its own",
			lines: []string{"googlebot: nofollow, otherbot: noindex, nofollow"},
			agent: "googlebot",
			want:  "nofollow",
		},
		{
			name:  "and ends at the next",
			lines: []string{"googlebot: nofollow, otherbot: noindex, nofollow"},
			agent: "otherbot",
			want:  "noindex nofollow",
		},
		{
			name:  "strangers are not meant",
			lines: []string{"googlebot: nofollow, otherbot: noindex, nofollow"},
			agent: "x",
		},
		{
			name:  "a scope runs over commas",
			lines: []string{"BadBot: noindex, nofollow, googlebot: nofollow"},
			agent: "googlebot",
			want:  "nofollow",
		},
		{
			name:  "for everybody, then for one",
			lines: []string{"noindex, Googlebot-News: nofollow"},
			agent: "googlebot",
			want:  "noindex",
		},
		{
			name:  "a valued directive is no scope",
			lines: []string{"max-snippet: 20, noindex"},
			agent: "any",
			want:  "noindex max-snippet",
		},
		{
			name:  "a date has colons",
			lines: []string{"noindex, unavailable_after: 25 Jun 2010 15:00:00 PST"},
			agent: "any",
			want:  "noindex 2010-06-25T23:00:00",
		},
		{
			name:  "a date has commas",
			lines: []string{"googlebot: unavailable_after: 2045-06-25T15:00:00,5-08:00, noindex"},
			agent: "googlebot",
			want:  "noindex 2045-06-25T23:00:00.5",
		},
		{
			name:  "a date begins with a weekday",
			lines: []string{"unavailable_after: Friday, 25-Jun-10 15:00:00 PST, bingbot: noindex"},
			agent: "bingbot",
			want:  "noindex 2010-06-25T23:00:00",
		},
		{
			name:  "a robot's name begins with a digit",
			lines: []string{"unavailable_after: 2024-01-01, 360Spider: noindex"},
			agent: "360spider",
			want:  "noindex 2024-01-01T00:00:00",
		},
		{"a star is everybody", []string{"*: noindex"}, "any", "noindex"},
		{"index lifts nothing", []string{"noindex", "mybot: index"}, "mybot", "noindex"},
		{
			name:  "a scope runs over unprefixed items",
			lines: []string{"googlebot: index, noai"},
			agent: "spawningbot",
		},
		{"each line begins anew", []string{"googlebot: nofollow", "noindex"}, "other", "noindex"},

		{"white space parts too", []string{"noindex nofollow"}, "any", "noindex nofollow"},
		{
			name:  "semicolons part too",
			lines: []string{"googlebot: nofollow; otherbot: noindex, nofollow"},
			agent: "otherbot",
			want:  "noindex nofollow",
		},
		{"words before a scope", []string{"noindex otherbot: nofollow"}, "x", "noindex"},
		{"a name of two words", []string{"Algolia crawler: noindex"}, "algolia crawler", "noindex"},
		{
			name:  "a version is not part of a name",
			lines: []string{"ExampleBot/2.1: noindex"},
			agent: "ExampleBot/3.0",
			want:  "noindex",
		},
		{"a directive with a colon", []string{"noindex: true"}, "any", "noindex"},
		{"all with a colon is a scope", []string{"googlebot: all, all: noindex"}, "any", "noindex"},
		{"a value that is a directive", []string{"max-image-preview: noindex"}, "any", "noindex"},
		{
			name:  "an unreadable date hides nothing",
			lines: []string{"unavailable_after: Wednesdy, 3 Dec 2025 13:00:00 GMT, noindex"},
			agent: "any",
			want:  "noindex",
		},
		{
			name:  "an unknown zone is UTC",
			lines: []string{"unavailable_after: 25 Jun 2010 15:00:00 XYZT, nofollow"},
			agent: "any",
			want:  "expired nofollow 2010-06-25T15:00:00",
		},
		{
			name:  "text behind a date",
			lines: []string{"unavailable_after: 25 Jun 2010 15:00:00 PST noindex"},
			agent: "any",
			want:  "noindex 2010-06-25T23:00:00",
		},
		{
			name:  "nearly a directive is no robot",
			lines: []string{"unavailable-after: 2001-01-01, noindex", "max_snippet: 0, nofollow", "Max Image Preview: none"},
			agent: "any",
			want:  "noindex nofollow",
		},
		{
			name:  "what stands before it counts",
			lines: []string{"nofollow unavailable-after: 2001-01-01T10:00:00Z"},
			agent: "any",
			want:  "nofollow",
		},
		{
			name:  "a robot's name may begin so",
			lines: []string{"maxsnippetbot: noindex, max: nofollow"},
			agent: "any",
		},
		{"never guess", []string{"noindex,nofllow"}, "any", "noindex"},
		{"the token is whole", []string{"googlebot-news: noindex"}, "googlebot", ""},
		{
			name:  "the earliest date",
			lines: []string{"unavailable_after: 2045-01-01", "unavailable_after: 2044-01-01, unavailable_after: 2046-01-01"},
			agent: "any",
			want:  "2044-01-01T00:00:00",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := summary(ParseHeader(header(test.lines...), test.agent)); got != test.want {
				t.Errorf("%q for %s: %q, want %q", test.lines, test.agent, got, test.want)
			}
		})
	}
}

// TestParser_Truncate checks that truncate also cuts off the comma
// before the removed part. That comma may be the byte after the limit.
func TestParser_Truncate(t *testing.T) {
	for n, want := range []string{"", "", "ab", "ab", "ab", "ab,cd", "ab,cd", "ab,cd,e"} {
		var p parser
		if got := p.truncate("ab,cd,e", n); got != want || p.Truncated() != (n < 7) {
			t.Errorf("truncate to %d: %q, want %q; truncated %v", n, got, want, p.Truncated())
		}
	}
}

// A program keeps the directives of 100 headers and metas, each of which is a
// part of a text of 500 KB. What it keeps is not a part of these texts.
func TestMemoryOfDirectives(t *testing.T) {
	for name, parse := range map[string]func(text string) Directives{
		"scopes and values": func(text string) Directives {
			return ParseHeader(http.Header{"X-Robots-Tag": {text[:len("ExampleBot: max-snippet: 20, strange")]}}, "ExampleBot")
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
			text := fmt.Sprint("ExampleBot: max-snippet: 20, strange, tdm-policy, ", i) + strings.Repeat("x", 500_000)
			kept = append(kept, parse(text))
		}
		if grown := testmain.Heap() - before; grown > 5<<20 {
			t.Errorf("%s: the directives of 100 texts take %d bytes", name, grown)
		}
		if len(kept[99].rules) == 0 {
			t.Errorf("%s: there are no rules", name)
		}
		runtime.KeepAlive(kept)
	}
}
