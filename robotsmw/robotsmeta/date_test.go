package robotsmeta

import (
	"strings"
	"testing"
	"time"
)

func TestDates(t *testing.T) {
	for _, test := range []struct {
		text string
		want string // the date in UTC, as in RFC 3339; "" if there is none
		rest string // the part of text after the date
	}{
		// RFC 822 §5, with its zones
		{"25 Jun 2010 15:00:00 PST", "2010-06-25T23:00:00Z", ""},
		{"25 Jun 2010 15:00:00 PDT", "2010-06-25T22:00:00Z", ""},
		{"25 Jun 2010 15:00:00 EST", "2010-06-25T20:00:00Z", ""},
		{"Fri, 25 Jun 2010 15:00:00 GMT", "2010-06-25T15:00:00Z", ""},
		{"Fri, 25 Jun 2010 15:00:00 -0800", "2010-06-25T23:00:00Z", ""},
		{"Fri, 25 Jun 2010 15:00:00 -0800 (PST)", "2010-06-25T23:00:00Z", ""},
		{"Fri, 25 Jun 2010 15:00 UT", "2010-06-25T15:00:00Z", ""},
		{"fri 25 jun 10 15:00 z", "2010-06-25T15:00:00Z", ""},
		{"1-Jan-3000 00:00:00 EST", "3000-01-01T05:00:00Z", ""},
		{"25 Jun 2010 15:00:00", "2010-06-25T15:00:00Z", ""},
		{"25 June 2010", "2010-06-25T00:00:00Z", ""},

		// RFC 850, and two-digit years by RFC 5322 §4.3
		{"Friday, 25-Jun-10 15:00:00 PST", "2010-06-25T23:00:00Z", ""},
		{"Tuesday, 31-Dec-30 23:00:00 PST", "2031-01-01T07:00:00Z", ""},
		{"25-Aug-2007 15:00:00 EST", "2007-08-25T20:00:00Z", ""},
		{"01-Jan-49", "2049-01-01T00:00:00Z", ""},

		// ISO 8601
		{"2010-06-25T15:00:00-08:00", "2010-06-25T23:00:00Z", ""},
		{"2010-06-25T15:00:00Z", "2010-06-25T15:00:00Z", ""},
		{"2010-06-25T15:00:00.25Z", "2010-06-25T15:00:00.25Z", ""},
		{"2045-06-25T15:00:00,5-08:00, noindex", "2045-06-25T23:00:00.5Z", ", noindex"},
		{"2010-06-25T15:00+0530", "2010-06-25T09:30:00Z", ""},
		{"2010-06-25T15:00-08", "2010-06-25T23:00:00Z", ""},
		{"20100625T150000Z", "2010-06-25T15:00:00Z", ""},
		{"20100625", "2010-06-25T00:00:00Z", ""},
		{"2020-09-21", "2020-09-21T00:00:00Z", ""},
		{"2025-11-06T10:14:16+01:00 ", "2025-11-06T09:14:16Z", " "},
		{"2026-10-31 23:59:59 UTC", "2026-10-31T23:59:59Z", ""},
		{"2026/10/31", "2026-10-31T00:00:00Z", ""},

		// C's asctime, date(1), and American dates
		{"Fri Jun 25 15:00:00 2010", "2010-06-25T15:00:00Z", ""},
		{"Fri Jun 25 15:00:00 PST 2010", "2010-06-25T23:00:00Z", ""},
		{"June 25, 2010", "2010-06-25T00:00:00Z", ""},
		{"June 25, 2010 3:00 PM PST", "2010-06-25T23:00:00Z", ""},
		{"June 25, 2010 3:00:00.5 PM PST", "2010-06-25T23:00:00.5Z", ""},
		{"June 25, 2010 12:00:00.5 am", "2010-06-25T00:00:00.5Z", ""},
		{"25 Jun 2010 3:00:00,5 PM", "2010-06-25T15:00:00.5Z", ""},
		{"Friday, June 25, 2010, 12:30 am", "2010-06-25T00:30:00Z", ""},

		// Times that are valid in RFC 5322 or ISO 8601, but not for time.Parse:
		// the result is the day, or the time in UTC
		{"31 Dec 2007 24:00:00 GMT", "2007-12-31T00:00:00Z", " 24:00:00 GMT"},
		{"31 Dec 2016 23:59:60 GMT", "2016-12-31T00:00:00Z", " 23:59:60 GMT"},
		{"25 Jun 2010 15:00:00 GMT+2", "2010-06-25T15:00:00Z", " GMT+2"},
		{"01-Jan-50", "2050-01-01T00:00:00Z", ""},

		// Years and days at their limits
		{"01-Jan-69", "1969-01-01T00:00:00Z", ""},
		{"Sept 25, 2010", "2010-09-25T00:00:00Z", ""},
		{"Jan 1 0000 00:00 +0100", "", ""},
		{"29 Feb 2024", "2024-02-29T00:00:00Z", ""},

		// The longest prefix that is a date
		{"2024-01-01, 360Spider: noindex", "2024-01-01T00:00:00Z", ", 360Spider: noindex"},
		{"2024-01-01 15:00:00,360Spider: noindex", "2024-01-01T15:00:00Z", ",360Spider: noindex"},
		{"25 Jun 2010 15:00:00 PST noindex", "2010-06-25T23:00:00Z", " noindex"},
		{"25 Jun 2010 15:00:00 XYZT", "2010-06-25T15:00:00Z", " XYZT"},
		{"25 Jun 2010 25:00:00 GMT", "2010-06-25T00:00:00Z", " 25:00:00 GMT"},
		// The limit is after "20", which must not be parsed as the year.
		{
			text: "25 Jun" + strings.Repeat(" ", maxDate-8) + "2010",
		},
		{
			text: "25 Jun" + strings.Repeat(" ", maxDate-10) + "2010, 15:00",
			want: "2010-06-25T00:00:00Z",
			rest: ", 15:00",
		},
		{"25 Jun 2010; noindex", "2010-06-25T00:00:00Z", "; noindex"},

		// Texts that are not dates
		{"", "", ""},
		{"not-a-date", "", ""},
		{"tomorrow", "", ""},
		{"31 Jun 2010", "", ""},
		{"29 Feb 2023", "", ""},
		{"0 Jan 2010", "", ""},
		{"2010-13-01", "", ""},
		{"25/06/2010", "", ""}, // it is unclear which number is the month
		{"1279884000", "", ""},
		{"2010", "", ""},
		{"15:00:00", "", ""},
		{"Friday", "", ""},
		{"25 Jun", "", ""},
		{"99999999999999999999", "", ""},
	} {
		got, n := parseDatePrefix(test.text)
		gotText := ""
		if n > 0 {
			gotText = got.Format(time.RFC3339Nano)
		}
		if gotText != test.want {
			t.Errorf("parseDatePrefix(%q) = %q, want %q", test.text, gotText, test.want)
		}
		if rest := test.text[n:]; test.want != "" && rest != test.rest {
			t.Errorf("the rest of %q is %q, want %q", test.text, rest, test.rest)
		}
	}
}

// slowDatePrefix is a slow version of parseDatePrefix that tries each prefix of
// s, the longest first.
func slowDatePrefix(s string) (t time.Time, n int) {
	for n = min(len(s), maxDate); n > 0; n-- {
		if n < len(s) && !strings.ContainsRune(space+",;", rune(s[n])) {
			continue
		}
		if t, all := parseDatePrefix(s[:n]); all == n {
			return t, n
		}
	}
	return time.Time{}, 0
}

func FuzzDate(f *testing.F) {
	for _, s := range []string{
		"25 Jun 2010 15:00:00 PST",
		"Friday, 25-Jun-10 15:00:00 PST, bingbot: noindex",
		"2045-06-25T15:00:00,5-08:00, noindex",
		"Fri Jun 25 15:00:00 PST 2010",
		"June 25, 2010 3:00 PM GMT+2 (x)",
		"20100625T150000Z",
		"31 Dec 2007 24:00:00 GMT",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, n := parseDatePrefix(s)
		want, m := slowDatePrefix(s)
		if n != m || !got.Equal(want) {
			t.Fatalf("parseDatePrefix(%q) = %v, %d, want %v, %d", s, got, n, want, m)
		}
		if n == 0 {
			return
		}
		if got.Location() != time.UTC || got.Year() < 0 || got.Year() > 10000 {
			t.Fatalf("parseDatePrefix(%q) = %v, want a year from 0 to 10000 in UTC", s, got)
		}
		if got.Year() < 1000 || got.Year() > 9999 {
			return // RFC 3339 has four digits for the year
		}
		text := got.Format(time.RFC3339Nano)
		if again, _ := parseDatePrefix(text); !again.Equal(got) {
			t.Fatalf("parseDatePrefix(%q) = %v, want %v", text, again, got)
		}
	})
}

func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		"googlebot: nofollow, otherbot: noindex, nofollow",
		"max-snippet: 20, noindex",
		"noindex; nofollow otherbot: none",
		"unavailable_after: Friday, 25-Jun-10 15:00:00 PST, bingbot: noindex",
		":, :, ,;: -:: ",
		"*;noindex, a;max-snippet=\"2,0\"",
	} {
		f.Add(s, "googlebot")
	}
	f.Fuzz(func(t *testing.T, line, token string) {
		input := line + "\n" + toASCII(line) // parse uses toASCII for X-Robots-Tag, but not for Robots-Tag
		for field, source := range map[string]string{"X-Robots-Tag": XRobotsTag, "Robots-Tag": RobotsTag} {
			h := map[string][]string{field: {line}}
			d := ParseHeader(h, token)
			// The directives for one robot include those for all robots.
			if u := d.Union(ParseHeader(h)); !isEquivalent(u, d) {
				t.Fatalf("the directives for %q in %q are %+v, want them to include those for all robots: %+v",
					token, line, d, u)
			}
			twice := ParseHeader(map[string][]string{field: {line, line}}, token)
			if !isEquivalent(twice, d) {
				t.Fatalf("%q has the directives %+v if it is repeated, want %+v", line, twice, d)
			}
			if len(d.rules) > maxRules {
				t.Fatalf("ParseHeader returns %d rules, want at most %d", len(d.rules), maxRules)
			}
			for r := range d.Rules() {
				isInput := strings.Contains(input, r.Raw) && strings.Contains(input, r.Value)
				isEmpty := r.Name == "" && r.Raw == ""
				if r.Source != source || r.Line != 1 || isEmpty || !isInput {
					t.Fatalf("ParseHeader returns the rule %+v for %q, want a part of line 1 of %s",
						r, line, source)
				}
			}
		}
		if d := ParseContent(line); len(d.rules) > maxRules {
			t.Fatalf("ParseContent returns %d rules, want at most %d", len(d.rules), maxRules)
		}
	})
}

// isEquivalent reports whether a and b have the same effect.
func isEquivalent(a, b Directives) bool {
	return a.flags == b.flags && a.limits == b.limits && a.after.Equal(b.after)
}
