package preference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// repeated returns n lines in the given format, whose argument is the number of
// the line, counted from 0.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

// metaAfter returns the directives of n unknown meta elements, followed by one
// with the given name and content.
func metaAfter(n int, name, content string) (d robotsmeta.Directives) {
	for i := range n {
		d = d.Union(robotsmeta.ParseMeta("robots", fmt.Sprint("unknown", i), 1))
	}
	return d.Union(robotsmeta.ParseMeta(name, content, 1))
}

func parse(text string) *robotstxt.File { return robotstxt.Parse([]byte(text)) }

func mustParseRSL(t *testing.T, text string) *RSL {
	t.Helper()
	f, err := ParseRSL([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLimits checks files, fields and pages that allow training at their
// beginning, and deny it at their end. If they exceed a limit, the answer is
// unknown and the evidence contains the limit, because an answer of allow would
// ignore the denial.
func TestLimits(t *testing.T) {
	const group = "User-agent: *\nAllow: /\n"
	big := strings.Repeat("a", 64<<10)
	usage := func(n int) string {
		return group + "Content-Usage: /p train-ai=y\n" +
			repeated(n, "Content-Usage: /other%d train-ai=y") +
			"Content-Usage: /page train-ai=n\n"
	}
	signal := func(n int) string {
		return group + "Content-Signal: /p ai-train=yes\n" +
			repeated(n, "Content-Signal: /other%d ai-train=yes") +
			"Content-Signal: /page ai-train=no\n"
	}
	long := "User-agent: *\n" +
		"Content-Usage: train-ai=y\n" +
		"Allow: /\n" +
		"# " + strings.Repeat("x", robotstxt.MaxSize) + "\n"
	tdm := func(n int, location string) []byte {
		return []byte("[" +
			repeated(n, `{"location":"/other%d","tdm-reservation":0},`) +
			`{"location":"` + location + `","tdm-reservation":1},` +
			`{"location":"/","tdm-reservation":0}]`)
	}
	rsl := mustParseRSL(t, rslFile(forAllURLs(`<permits type="usage">ai-train</permits>`)))
	licenses := func(n int) string { return group + repeated(n, "License: https://a.example/%d.xml") }
	tests := []struct {
		name    string
		in      Input
		use     Use // "" means TrainAI
		want    Answer
		because string // a part of the evidence, if want is Unknown
	}{
		{
			name: "256 lines of Content-Usage",
			in:   Input{Robots: parse(usage(254)), Target: "/page"},
			want: Deny,
		},
		{
			name:    "257 lines of Content-Usage",
			in:      Input{Robots: parse(usage(255)), Target: "/page"},
			want:    Unknown,
			because: "more than 256 such lines",
		},
		{
			name: "257 lines and a header that allows",
			in: Input{
				Robots: parse(usage(255)),
				Target: "/page",
				Header: header("Content-Usage", "train-ai=y"),
			},
			want:    Unknown,
			because: "more than 256",
		},
		{
			name: "257 lines and another signal that allows",
			in: Input{
				Robots: parse(usage(255)),
				Target: "/page",
				Header: header("TDM-Reservation", "0"),
			},
			want:    Unknown,
			because: "more than 256",
		},
		{
			name:    "257 lines and training on images",
			in:      Input{Robots: parse(usage(255)), Target: "/page"},
			use:     TrainAIImages,
			want:    Unknown,
			because: "more than 256",
		},
		{
			name: "256 lines of Content-Signal",
			in:   Input{Robots: parse(signal(254)), Target: "/page"},
			want: Deny,
		},
		{
			name:    "257 lines of Content-Signal",
			in:      Input{Robots: parse(signal(255)), Target: "/page"},
			want:    Unknown,
			because: "more than 256 such lines",
		},
		{
			name: "a line of Content-Usage that is too long",
			in: Input{
				Robots: parse("User-agent: *\nContent-Usage: train-ai=n, " + big + "\nAllow: /\n"),
				Header: header("Content-Usage", "train-ai=y"),
			},
			want:    Unknown,
			because: "cannot be read",
		},
		{
			name: "a line of Content-Signal that is too long",
			in: Input{
				Robots: parse("User-agent: *\nContent-Signal: ai-train=no, " + big + "=1\nAllow: /\n"),
				Header: header("Content-Usage", "train-ai=y"),
			},
			want:    Unknown,
			because: "cannot be read",
		},
		{
			name: "a Content-Usage in a header that is too long",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=y", "Allow: /"),
				Header: header("Content-Usage", big, "Content-Usage", "train-ai=n"),
			},
			want:    Unknown,
			because: "cannot be read",
		},
		{
			name: "a Content-Signal in a header that is too long",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=y", "Allow: /"),
				Header: header("Content-Signal", big, "Content-Signal", "ai-train=no"),
			},
			want:    Unknown,
			because: "cannot be read",
		},
		{
			name: "a TDM-Reservation that is too long",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=y", "Allow: /"),
				Header: header("TDM-Reservation", big, "TDM-Reservation", "1"),
			},
			want:    Unknown,
			because: "cannot be read",
		},
		{
			name:    "a robots.txt that is too long, for Content-Usage",
			in:      Input{Robots: parse(long + "User-agent: *\nContent-Usage: train-ai=n\n")},
			want:    Unknown,
			because: "more than 500 KiB",
		},
		{
			name: "a robots.txt that is too long, for a policy token",
			in: Input{
				Robots: parse("User-agent: Policy\nAllow: /\n# " +
					strings.Repeat("x", robotstxt.MaxSize) + "\nDisallow: /"),
				PolicyTokens: map[Use][]string{TrainAI: {"Policy"}},
			},
			want:    Unknown,
			because: "more than 500 KiB",
		},
		{
			name: "a tdm-reservation as the 257th rule of a page",
			in: Input{
				Page:   metaAfter(256, "tdm-reservation", "1"),
				Header: header("TDM-Reservation", "0"),
			},
			want: Deny,
		},
		{
			name: "noai as the 257th rule of a page",
			in:   Input{Page: metaAfter(256, "noai", ""), Header: header("TDM-Reservation", "0")},
			want: Deny,
		},
		{
			name: "directives that are too long",
			in: Input{
				Page:   robotsmeta.ParseHeader(header("X-Robots-Tag", strings.Repeat("a,", 8<<10)+"noai")),
				Header: header("TDM-Reservation", "0"),
			},
			want:    Unknown,
			because: "too long",
		},
		{
			name: "1,000 entries of tdmrep.json",
			in:   Input{TDMRep: tdm(999, "/page"), Target: "/page"},
			want: Deny,
		},
		{
			name: "1,001 entries of tdmrep.json",
			in: Input{
				TDMRep: tdm(1000, "/page"),
				Target: "/page",
				Header: header("Content-Usage", "train-ai=y"),
			},
			want:    Unknown,
			because: "more than 1000 entries",
		},
		{
			name: "a tdmrep.json that is too long",
			in: Input{
				TDMRep: append(tdm(0, "/page"), make([]byte, 1<<20)...),
				Target: "/page",
				Header: header("Content-Usage", "train-ai=y"),
			},
			want:    Unknown,
			because: "cannot be read",
		},
		{
			name:    "a location that is too long",
			in:      Input{TDMRep: tdm(0, "/"+strings.Repeat("*", 600<<10)), Target: "/page"},
			want:    Unknown,
			because: "cannot be read",
		},
		{"256 licenses", Input{Robots: parse(licenses(256)), RSL: []*RSL{rsl}}, "", Allow, ""},
		{
			name:    "257 licenses",
			in:      Input{Robots: parse(licenses(257)), RSL: []*RSL{rsl}},
			want:    Unknown,
			because: "more RSL files than Licenses returns",
		},
		{
			name: "257 licenses in a header",
			in: Input{
				Header: header("Link", strings.Repeat(`<https://a.example/>;rel=license,`, 257)),
				RSL:    []*RSL{rsl},
			},
			want:    Unknown,
			because: "more RSL files than Licenses returns",
		},
		{
			name: "a Link that is too long",
			in: Input{
				Header: header("Link", big, "Link", `<https://a.example/>; rel="license"`),
				RSL:    []*RSL{rsl},
			},
			want:    Unknown,
			because: "more RSL files than Licenses returns",
		},
		{
			name: "257 lines, the first of which denies",
			in: Input{
				Robots: parse(group + "Content-Usage: train-ai=n\n" +
					repeated(256, "Content-Usage: /page%d train-ai=y")),
			},
			want: Deny,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			use := cmp.Or(tt.use, TrainAI)
			v := tt.in.For(use)
			if v.Answer != tt.want {
				t.Errorf("For(%s) = %s, want %s; the evidence is %.2000v", use, v.Answer, tt.want, v.Evidence)
			}
			hasLimit := func(s Statement) bool {
				return s.Answer == Unknown && strings.Contains(s.Raw, tt.because)
			}
			if tt.want == Unknown && !slices.ContainsFunc(v.Evidence, hasLimit) {
				t.Errorf("the evidence is %.2000v, want it to contain %q", v.Evidence, tt.because)
			}
		})
	}
}

// TestParseRSL_Limits checks that a file that exceeds a limit is an error, and
// is not used in part. Otherwise, a shorter url that permits training could
// apply instead of a longer one that prohibits it.
func TestParseRSL_Limits(t *testing.T) {
	file := func(url, text string) []byte {
		return []byte(rslFile(
			`<content url="`+url+`"><license><prohibits type="usage">ai-train</prohibits>`+text+
				`</license></content>`,
			forAllURLs(`<permits type="usage">ai-train</permits>`)))
	}
	if _, err := ParseRSL(file("/page", "")); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"a url that is too long": file("/"+strings.Repeat("*", 600<<10), ""),
		"too many tags":          file("/page", strings.Repeat("<a/>", 30_000)),
		"too many bytes":         file("/page", strings.Repeat(" ", 1<<20)),
	} {
		if f, err := ParseRSL(body); err == nil || f != nil {
			t.Errorf("%s: ParseRSL = %v, %v, want an error", name, f, err)
		}
	}
}

// TestContentUse_Limits checks that the least value is found after many others.
// If a limit is exceeded, the result is "immediate", because this value may be
// in the rest.
func TestContentUse_Limits(t *testing.T) {
	unknown := strings.ReplaceAll(repeated(16, "l%d=1,"), "\n", "")
	for _, tt := range []struct {
		name string
		in   Input
		want string
	}{
		{
			name: "a value after 16 unknown labels",
			in:   Input{Header: header("Content-Signal", "use=full, "+unknown+"use=immediate")},
			want: "immediate",
		},
		{
			name: "a value after 16 others",
			in: Input{
				Header: header("Content-Signal", strings.Repeat("use=full,", 16)+"use=immediate"),
			},
			want: "immediate",
		},
		{
			name: "a value after 16 unknown values",
			in: Input{
				Header: header("Content-Signal", strings.Repeat("use=x,", 16)+"use=reference"),
			},
			want: "reference",
		},
		{
			name: "a header that is too long",
			in: Input{
				Header: header(
					"Content-Signal", "use=full",
					"Content-Signal", strings.Repeat("a", 64<<10),
				),
			},
			want: "immediate",
		},
		{
			name: "257 lines",
			in: Input{
				Robots: parse("User-agent: *\nAllow: /\n" +
					strings.Repeat("Content-Signal: use=full\n", 256) +
					"Content-Signal: use=immediate\n"),
			},
			want: "immediate",
		},
	} {
		least, by := tt.in.ContentUse()
		if least != tt.want || by.Signal != contentSignal {
			t.Errorf("%s: ContentUse() = %q, %v, want %q by Content-Signal", tt.name, least, by, tt.want)
		}
	}
}
