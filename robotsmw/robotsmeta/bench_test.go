package robotsmeta

import (
	"slices"
	"strings"
	"testing"
)

var benchHeaders = []struct {
	name  string
	lines []string
}{
	{"none", nil},
	{"noindex,nofollow", []string{"noindex, nofollow"}},
	{"scopes", []string{"googlebot: noindex, nofollow, bingbot: noindex, nofollow"}},
	{
		name: "three lines",
		lines: []string{
			"noindex, noarchive, nosnippet, noimageindex, nocache",
			"googlebot: noindex, nofollow",
			"bingbot: noindex, noarchive",
		},
	},
	{
		name:  "date",
		lines: []string{"noindex, nofollow, nosnippet, unavailable_after: Friday, 25-Jun-10 15:00:00 PST"},
	},
	{"limits", []string{"max-snippet:-1, max-image-preview:large, max-video-preview:-1"}},
}

func BenchmarkParseHeader(b *testing.B) {
	for _, bench := range benchHeaders {
		b.Run(bench.name, func(b *testing.B) {
			h := header(bench.lines...)
			b.ReportAllocs()
			for b.Loop() {
				ParseHeader(h, "examplebot")
			}
		})
	}
}

// TestParseHeader_Allocs checks that a header takes one allocation for its
// rules, and one for each value, because rules do not retain the header. The
// budgets are twice that.
func TestParseHeader_Allocs(t *testing.T) {
	for _, bench := range benchHeaders {
		if bench.name == "date" {
			continue // hardly any page has a date, and time.Parse allocates
		}
		h := header(bench.lines...)
		budget := 2.0
		if bench.name == "limits" {
			budget += 6
		}
		if n := testing.AllocsPerRun(100, func() { ParseHeader(h, "examplebot") }); n > budget {
			t.Errorf("%s: ParseHeader makes %v allocations, want at most %v", bench.name, n, budget)
		}
	}
}

// TestAllocs_OtherRobots checks that directives for other robots take no
// allocations. It also checks ParseMeta, which takes one allocation for the
// rules and one for the value; the budget is twice that.
func TestAllocs_OtherRobots(t *testing.T) {
	h := header("googlebot: noindex, nofollow, bingbot: noindex, nofollow", "otherbot: none")
	if n := testing.AllocsPerRun(100, func() { ParseHeader(h, "examplebot") }); n > 0 {
		t.Errorf("ParseHeader of a header for other robots makes %v allocations, want none", n)
	}
	parseMeta := func() { ParseMeta("robots", "noindex, nofollow, max-snippet:20", 1) }
	if n := testing.AllocsPerRun(100, parseMeta); n > 4 {
		t.Errorf("ParseMeta makes %v allocations, want at most 4", n)
	}
}

func BenchmarkDate(b *testing.B) {
	for b.Loop() {
		parseDatePrefix("Friday, 25-Jun-10 15:00:00 PST, noindex")
	}
}

// BenchmarkHostileHeader parses lines that are designed to be slow. None should
// take more than a few milliseconds.
func BenchmarkHostileHeader(b *testing.B) {
	for _, unit := range []string{
		"a:",
		"max-snippet:",
		"unavailable_after: ",
		"noindex a ",
		"2010-06-25 15:00:00,5-08:00 x:",
	} {
		b.Run(unit, func(b *testing.B) {
			h := header(slices.Repeat([]string{strings.Repeat(unit, maxLine/len(unit))}, 20)...)
			for b.Loop() {
				ParseHeader(h, "examplebot")
			}
		})
	}
}
