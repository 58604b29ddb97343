package robotsmeta

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// parse returns the directives in a text, which must be the same in the content
// of a meta element and in a header line.
func parse(t *testing.T, text string) Directives {
	t.Helper()
	d := ParseContent(text)
	if h := ParseHeader(header(text)); summary(h) != summary(d) {
		t.Errorf("ParseHeader returns %q for %q, want %q as ParseContent", summary(h), text, summary(d))
	}
	return d
}

func TestFlags(t *testing.T) {
	says := func(name string) func(Directives) bool {
		return func(d Directives) bool { return d.Says(name) }
	}
	for _, test := range []struct {
		content string
		method  func(Directives) bool
		want    bool
	}{
		{"noindex", Directives.NoIndex, true},
		{"NoIndex", Directives.NoIndex, true},
		{"index, noindex", Directives.NoIndex, true},
		{"noindex, index, all", Directives.NoIndex, true},
		{"none", Directives.NoIndex, true},
		{"none", Directives.NoFollow, true},
		{"none", says("noarchive"), false},
		{"nofollow", Directives.NoIndex, false},
		{"xnofollowx", Directives.NoFollow, false},
		{"nofllow", Directives.NoFollow, false},
		{"noarchive", says("noarchive"), true},
		{"nocache", says("noarchive"), true},
		{"nosnippet", says("nosnippet"), true},
		{"max-snippet:0", says("nosnippet"), true},
		{"max-snippet:1", says("nosnippet"), false},
		{"noimageindex", says("noimageindex"), true},
		{"notranslate", says("notranslate"), true},
		{"indexifembedded", says("indexifembedded"), true},
		{"noindex, indexifembedded", Directives.NoIndex, true},
		{"noai", says("noai"), true},
		{"noai", says("noimageai"), true},
		{"noimageai", says("noimageai"), true},
		{"noimageai", says("noai"), false},
		{"noml", says("noml"), true},
		{"noindex nofollow", Directives.NoFollow, true},
		{"noindex;nofollow", Directives.NoFollow, true},
		{"noindex,\n\n\tnofollow", Directives.NoFollow, true},
		{", ,noindex,,", Directives.NoIndex, true},
		{"noindex,\u00a0nofollow", Directives.NoFollow, true}, // &nbsp; is a no-break space
		{"noindex\u00a0nofollow", Directives.NoFollow, true},
		{"noindex\u3000nofollow", Directives.NoFollow, true},
		{"noindex，nofollow", Directives.NoFollow, true},
		{"max-snippet：0", says("nosnippet"), true},
		{"\u200bnoindex\ufeff", Directives.NoIndex, true},
		{"noindéx", Directives.NoIndex, false},
		{"index,\u00a0max-snippet:\u00a00", says("nosnippet"), true},
		{"index\u00a0max-snippet:0", says("nosnippet"), true},
		{"", Directives.NoIndex, false},
		{"none", says("none"), true},
		{"noindex", says("none"), false},
		{"noindex, nofollow", says("noindex"), true},
		{"index, max-snippet:0, nothinking", says("index"), false},
		{"index, max-snippet:0, nothinking", says("nothinking"), false},
		{"index, max-snippet:0, nothinking", says("max-snippet"), true},
	} {
		if got := test.method(parse(t, test.content)); got != test.want {
			t.Errorf("the directives of %q: the method returns %t, want %t", test.content, got, test.want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, test := range []struct{ content, snippet, video, image string }{
		{"max-snippet:20", "20", "", ""},
		{"max-snippet : 20", "20", "", ""},
		{"max-snippet:-1", "-1", "", ""},
		{"max-snippet:-1, max-snippet:20, max-snippet:30, max-snippet:-1", "20", "", ""},
		{"max-snippet:-2", "", "", ""},
		{"max-snippet:+2", "", "", ""},
		{"max-snippet:many", "", "", ""},
		{"max-snippet:", "", "", ""},
		{"max-snippet", "", "", ""},
		{"max-snippet:99999999999999999999", "67108863", "", ""},
		{"max-video-preview:0, max-snippet:7", "7", "0", ""},
		{"max-image-preview:large", "", "", "large"},
		{"max-image-preview:Large,max-image-preview:STANDARD", "", "", "standard"},
		{"max-image-preview:none max-image-preview:large", "", "", "none"},
		{"max-image-preview:huge", "", "", ""},
	} {
		d := parse(t, test.content)
		for name, want := range map[string]string{
			"max-snippet":       test.snippet,
			"max-video-preview": test.video,
			"max-image-preview": test.image,
			"noindex":           "",
			"unavailable_after": "",
			"no such name":      "",
		} {
			if got := d.Limit(name); got != want {
				t.Errorf("%q: Limit(%q) = %q, want %q", test.content, name, got, want)
			}
		}
	}
}

func TestUnavailableAfter(t *testing.T) {
	d := parse(t, "unavailable_after: 25 Jun 2040 15:00:00 PST, unavailable_after: 1 Jan 2039")
	end := time.Date(2039, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, ok := d.UnavailableAfter(); !ok || !got.Equal(end) {
		t.Errorf("UnavailableAfter() = %v, %t, want %v, true", got, ok, end)
	}
	if d.NoIndexAt(end.Add(-1)) {
		t.Error("NoIndexAt before the date = true, want false")
	}
	if !d.NoIndexAt(end) {
		t.Error("NoIndexAt at the date = false, want true")
	}
	if !parse(t, "unavailable_after: 2001-01-01").NoIndex() {
		t.Error("NoIndex after the date = false, want true")
	}
	if parse(t, "unavailable_after: soon").NoIndex() {
		t.Error("NoIndex with an invalid date = true, want false")
	}
}

// TestUnion checks that the union of the directives of two texts equals the
// directives of a text that contains both.
func TestUnion(t *testing.T) {
	contents := []string{
		"",
		"noindex",
		"index, follow",
		"nofollow, max-snippet:-1",
		"max-snippet:5, max-image-preview:standard",
		"max-snippet:9, max-video-preview:0",
		"unavailable_after: 2041-01-01",
		"unavailable_after: 2040-01-01, max-image-preview:none",
		"noai",
	}
	for _, a := range contents {
		for _, b := range contents {
			got := ParseContent(a).Union(ParseContent(b))
			want := ParseContent(a + "," + b)
			isEqual := summary(got) == summary(want) && got.limits == want.limits
			if !isEqual || !slices.Equal(got.rules, want.rules) {
				t.Errorf("the union of %q and %q is %+v, want %+v", a, b, got, want)
			}
		}
	}
}

// TestUnion_Immutable checks that two unions of the same Directives do not
// share their rules, although the slice has capacity for another rule.
func TestUnion_Immutable(t *testing.T) {
	a := ParseContent("noindex, nofollow, noarchive")
	a.rules = a.rules[:1]
	first := a.Union(ParseContent("noai"))
	second := a.Union(ParseContent("noml"))
	if got := first.rules[1].Name; got != "noai" {
		t.Errorf("the second rule of the first union is %q, want noai", got)
	}
	if got := second.rules[1].Name; got != "noml" {
		t.Errorf("the second rule of the second union is %q, want noml", got)
	}
}

func TestRules_Positions(t *testing.T) {
	h := header("noindex, ExampleBot/2: MAX-snippet : 20", "otherbot: none, robots: nofllow")
	h.Add("Robots-Tag", `examplebot;noindex;nosnippet=?0, *;max-snippet=3`)
	want := []Rule{
		{"noindex", "", true, XRobotsTag, "", 1, "noindex"},
		{"max-snippet", "20", true, XRobotsTag, "ExampleBot/2", 1, "MAX-snippet : 20"},
		{"nofllow", "", false, XRobotsTag, "", 2, "nofllow"},
		{"noindex", "", true, RobotsTag, "examplebot", 1, "noindex"},
		{"nosnippet", "", false, RobotsTag, "examplebot", 1, "nosnippet=?0"},
		{"max-snippet", "3", true, RobotsTag, "", 1, "max-snippet=3"},
	}
	got := slices.Collect(ParseHeader(h, "ExampleBot").Rules())
	if !slices.Equal(got, want) {
		t.Errorf("ParseHeader returns the rules %+v, want %+v", got, want)
	}
	want = []Rule{{"nofollow", "", true, Meta, "examplebot", 12, "nofollow"}}
	got = slices.Collect(ParseMeta(" examplebot ", "nofollow", 12, "ExampleBot").Rules())
	if !slices.Equal(got, want) {
		t.Errorf("ParseMeta returns the rules %+v, want %+v", got, want)
	}
}

// TestRobotsTag checks Robots-Tag lines as draft-illyes-repext and RFC 9651
// define them.
func TestRobotsTag(t *testing.T) {
	for _, test := range []struct {
		lines string
		want  string
	}{
		{"*;nosnippet, ExampleBot;noindex", "noindex nosnippet"},
		{"otherbot;noindex", ""},
		{"examplebot;noindex=?1;nofollow=?0", "noindex"},
		{`"ExampleBot"; noindex`, "noindex"},
		{`otherbot;x="a, *;noindex", *;nofollow`, "nofollow"},
		{"*", ""},
		// "(a b)" is not a token, so only the first member is ignored
		{
			lines: "(a b);noindex, *;nofollow",
			want:  "nofollow",
		},
		// a directive instead of a robot's name is for all robots
		{
			lines: "noindex",
			want:  "noindex",
		},
		{"noindex, NoFollow;noarchive", "noindex nofollow noarchive"},
		{"all;noindex", "noindex"},
		{"*;noindex|*;nofollow", "noindex nofollow"},
		{"*;unavailable_after=\"2001-01-01\"", "expired 2001-01-01T00:00:00"},
		{";;,=,\"", ""},
	} {
		d := ParseHeader(http.Header{"Robots-Tag": strings.Split(test.lines, "|")}, "ExampleBot")
		if got := summary(d); got != test.want {
			t.Errorf("ParseHeader(Robots-Tag: %s) = %q, want %q", test.lines, got, test.want)
		}
	}
}

func TestParseMeta(t *testing.T) {
	for _, test := range []struct {
		name, content string
		want          string
	}{
		{"robots", "noindex", "noindex"},
		{" ROBOTS\n", "noindex", "noindex"},
		{"ExampleBot", "noindex", "noindex"},
		{"otherrobots", "noindex", ""},
		{"robot\u017f", "noindex", ""}, // in Unicode this letter folds to s, in HTML it does not
		{"googlebot", "noindex", ""},
		{"robots", "googlebot: noindex", ""}, // names of robots are only in headers
		{"robots", "noindex: true", "noindex"},
		{"noai", "", "noai"},
		{"description", "noai, noindex", ""},
		{"", "noindex", ""},
	} {
		if got := summary(ParseMeta(test.name, test.content, 1, "ExampleBot", "")); got != test.want {
			t.Errorf("ParseMeta(%q, %q) = %q, want %q", test.name, test.content, got, test.want)
		}
	}
	for r := range ParseMeta("TDM-Reservation", " 1 ", 3).Rules() {
		if r.Name != "tdm-reservation" || r.Value != "1" || r.Line != 3 {
			t.Errorf("ParseMeta returns the rule %+v, want tdm-reservation=1 in line 3", r)
		}
	}
}

// TestTruncated checks the limits of header lines, which bound the work and the
// memory that a malicious server can cause. Truncated must report whether
// directives may be missing.
func TestTruncated(t *testing.T) {
	long := strings.Repeat("noarchive, ", 1000)
	for _, test := range []struct {
		name      string
		lines     []string
		noIndex   bool
		truncated bool
	}{
		{"a line of 8 KiB", []string{strings.Repeat(",", maxLine-7) + "noindex"}, true, false},
		{
			name:      "a line of more than 8 KiB",
			lines:     []string{strings.Repeat(",", maxLine-6) + "noindex"},
			truncated: true,
		},
		{"an incomplete item at the limit", []string{long[:maxLine-3] + "noindexed"}, false, true},
		{"a line after one that is too long", []string{long, "noindex"}, true, true},
		{
			name: "64 KiB of lines",
			lines: append(
				slices.Repeat([]string{long[:8000]}, 9),
				strings.Repeat(" ", 50)+"noindex",
			),
			truncated: true,
		},
		{"many rules", []string{strings.Repeat("a,", 300) + "noindex"}, true, false},
	} {
		d := ParseHeader(header(test.lines...))
		if got := d.NoIndex(); got != test.noIndex {
			t.Errorf("%s: NoIndex() = %t, want %t", test.name, got, test.noIndex)
		}
		if got := d.Truncated(); got != test.truncated {
			t.Errorf("%s: Truncated() = %t, want %t", test.name, got, test.truncated)
		}
		if n := len(d.rules); n > maxRules {
			t.Errorf("%s: ParseHeader returns %d rules, want at most %d", test.name, n, maxRules)
		}
	}
}

// TestLongValues checks a number and a date that exceed their limits. The
// number is capped, which is more restrictive. The date is a rule that is not
// Known.
func TestLongValues(t *testing.T) {
	d := ParseContent("max-snippet: 99999999999999999999999, max-video-preview: 67108864")
	for _, name := range []string{"max-snippet", "max-video-preview"} {
		if got := d.Limit(name); got != "67108863" {
			t.Errorf("Limit(%q) = %q, want 67108863", name, got)
		}
	}
	d = ParseContent("unavailable_after: 25 Jun" + strings.Repeat(" ", maxDate) + "2010 15:00:00 GMT")
	if at, ok := d.UnavailableAfter(); ok {
		t.Errorf("UnavailableAfter() = %v, want none, because the date is too long", at)
	}
	isUnknown := func(r Rule) bool { return r.Name == "unavailable_after" && !r.Known }
	if !slices.ContainsFunc(d.rules, isUnknown) {
		t.Errorf("ParseContent returns the rules %+v, want an unavailable_after that is not Known", d.rules)
	}
}
