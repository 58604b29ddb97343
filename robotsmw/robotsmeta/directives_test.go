package robotsmeta

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// read reads its argument twice: as the content of a meta, and as a header
// line. The results must be equal.
func read(t *testing.T, content string) Directives {
	t.Helper()
	d := ParseContent(content)
	if h := ParseHeader(header(content)); summary(h) != summary(d) {
		t.Errorf("%q: %q in a header, %q in a meta", content, summary(h), summary(d))
	}
	return d
}

func TestFlags(t *testing.T) {
	says := func(name string) func(Directives) bool { return func(d Directives) bool { return d.Says(name) } }
	for _, test := range []struct {
		content string
		is      func(Directives) bool
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
		if got := test.is(read(t, test.content)); got != test.want {
			t.Errorf("%q: %v", test.content, got)
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
		d := read(t, test.content)
		if s, v, i := d.Limit("max-snippet"), d.Limit("max-video-preview"), d.Limit("max-image-preview"); s != test.snippet || v != test.video || i != test.image {
			t.Errorf("%q: %q, %q, %q", test.content, s, v, i)
		}
		if other := d.Limit("noindex") + d.Limit("unavailable_after") + d.Limit("no such name"); other != "" {
			t.Errorf("%q: limits of other directives: %q", test.content, other)
		}
	}
}

func TestUnavailableAfter(t *testing.T) {
	d := read(t, "unavailable_after: 25 Jun 2040 15:00:00 PST, unavailable_after: 1 Jan 2039")
	end := time.Date(2039, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, ok := d.UnavailableAfter(); !ok || !got.Equal(end) {
		t.Errorf("%v, %v", got, ok)
	}
	if d.NoIndexAt(end.Add(-1)) || !d.NoIndexAt(end) {
		t.Error("noindex does not begin with the date")
	}
	if !read(t, "unavailable_after: 2001-01-01").NoIndex() {
		t.Error("a date that is past is not noindex")
	}
	if read(t, "unavailable_after: soon").NoIndex() {
		t.Error("an unreadable date is noindex")
	}
}

func TestUnionTakesTheMoreRestrictive(t *testing.T) {
	texts := []string{"", "noindex", "index, follow", "nofollow, max-snippet:-1", "max-snippet:5, max-image-preview:standard", "max-snippet:9, max-video-preview:0",
		"unavailable_after: 2041-01-01", "unavailable_after: 2040-01-01, max-image-preview:none", "noai"}
	for _, a := range texts {
		for _, b := range texts {
			got, want := ParseContent(a).Union(ParseContent(b)), ParseContent(a+","+b)
			if summary(got) != summary(want) || got.limits != want.limits ||
				!slices.Equal(got.rules, want.rules) {
				t.Errorf("%q and %q: %+v, want %+v", a, b, got, want)
			}
		}
	}
}

func TestUnionChangesNeither(t *testing.T) {
	a := ParseContent("noindex, nofollow, noarchive")
	a.rules = a.rules[:1] // the slice has room for a second rule, but Union must not use it
	first, second := a.Union(ParseContent("noai")), a.Union(ParseContent("noml"))
	if first.rules[1].Name != "noai" || second.rules[1].Name != "noml" {
		t.Error("two unions share their memory")
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
	if got := slices.Collect(ParseHeader(h, "ExampleBot").Rules()); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want = []Rule{{"nofollow", "", true, Meta, "examplebot", 12, "nofollow"}}
	if got := slices.Collect(ParseMeta(" examplebot ", "nofollow", 12, "ExampleBot").Rules()); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
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
		// (a b) is no token, so only the first member is ignored
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
			t.Errorf("%q: %q, want %q", test.lines, got, test.want)
		}
	}
}

func TestMetaNames(t *testing.T) {
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
		{"robots", "googlebot: noindex", ""}, // the content of a meta contains no robots' names
		{"robots", "noindex: true", "noindex"},
		{"noai", "", "noai"},
		{"description", "noai, noindex", ""},
		{"", "noindex", ""},
	} {
		if got := summary(ParseMeta(test.name, test.content, 1, "ExampleBot", "")); got != test.want {
			t.Errorf("%q %q: %q, want %q", test.name, test.content, got, test.want)
		}
	}
	for r := range ParseMeta("TDM-Reservation", " 1 ", 3).Rules() {
		if r.Name != "tdm-reservation" || r.Value != "1" || r.Line != 3 {
			t.Errorf("got %+v; want tdm-reservation=1 in line 3", r)
		}
	}
}

// TestLimitsOfText checks that the work and the memory are bounded, whatever a
// server sends. Truncated must report whether something was cut off.
func TestLimitsOfText(t *testing.T) {
	long := strings.Repeat("noarchive, ", 1000)
	for _, test := range []struct {
		name      string
		lines     []string
		noIndex   bool
		truncated bool
	}{
		{"a line of 8 KiB", []string{strings.Repeat(",", maxLine-7) + "noindex"}, true, false},
		{"a longer one", []string{strings.Repeat(",", maxLine-6) + "noindex"}, false, true},
		{"whole items only", []string{long[:maxLine-3] + "noindexed"}, false, true},
		{"the next line counts again", []string{long, "noindex"}, true, true},
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
		if d.NoIndex() != test.noIndex || d.Truncated() != test.truncated {
			t.Errorf("%s: noindex %v, truncated %v", test.name, d.NoIndex(), d.Truncated())
		}
		if n := len(d.rules); n > maxRules {
			t.Errorf("%s: %d rules", test.name, n)
		}
	}
}

// A number or a date goes beyond what can be read. A number counts as a smaller
// one, which restricts more. A date is listed as a rule that is not known.
func TestLimitsOfValues(t *testing.T) {
	d := ParseContent("max-snippet: 99999999999999999999999, max-video-preview: 67108864")
	if d.Limit("max-snippet") != "67108863" || d.Limit("max-video-preview") != "67108863" {
		t.Errorf("%s, %s", d.Limit("max-snippet"), d.Limit("max-video-preview"))
	}
	d = ParseContent("unavailable_after: 25 Jun" + strings.Repeat(" ", maxDate) + "2010 15:00:00 GMT")
	if _, ok := d.UnavailableAfter(); ok {
		t.Error("a date was read that is longer than what is examined")
	}
	isListed := false
	for r := range d.Rules() {
		isListed = isListed || r.Name == "unavailable_after" && !r.Known
	}
	if !isListed {
		t.Errorf("the date is not listed as unknown: %+v", d)
	}
}
