package preference

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// rslFile returns an RSL file with the given content elements.
func rslFile(contents ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<rsl xmlns="https://rslstandard.org/rsl">` + strings.Join(contents, "\n") + "</rsl>\n"
}

// forAllURLs returns a content element for all URLs, with the given licenses.
func forAllURLs(licenses ...string) string {
	return `<content url="/"><license>` + strings.Join(licenses, "</license><license>") + `</license></content>`
}

// withRSL returns an Input with a target and RSL files.
func withRSL(t *testing.T, target string, files ...string) Input {
	t.Helper()
	in := Input{Target: target}
	for _, text := range files {
		f, err := ParseRSL([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		in.RSL = append(in.RSL, f)
	}
	return in
}

// TestRSL has rows according to RSL 1.0 (rslstandard.org/rsl).
func TestRSL(t *testing.T) {
	const (
		permitsTraining   = `<permits type="usage">ai-train</permits>`
		prohibitsTraining = `<prohibits type="usage">ai-train</prohibits>`
	)
	// one returns an Input with a content element for all URLs.
	one := func(licenses ...string) Input {
		return withRSL(t, "/a", rslFile(forAllURLs(licenses...)))
	}
	// at returns an Input with the given target and content elements.
	at := func(target string, contents ...string) Input {
		return withRSL(t, target, rslFile(contents...))
	}
	// of returns a content element that prohibits training at a url.
	of := func(url string) string {
		return fmt.Sprintf(`<content url=%q><license>%s</license></content>`,
			url, prohibitsTraining)
	}
	run(t, []check{
		{"a permit", one(permitsTraining), "unknown allow unknown"},
		{"a prohibition", one(prohibitsTraining), "unknown deny unknown"},
		{
			name: "search",
			in:   one(`<permits type="usage">search</permits><prohibits type="usage">ai-input</prohibits>`),
			want: "allow unknown deny",
		},
		{"several words", one(`<permits type="usage"> search, ai-input
			AI-TRAIN </permits>`), "allow allow allow"},
		{"all", one(`<prohibits type="usage">all</prohibits>`), "deny deny deny"},
		{"ai-all", one(`<prohibits type="usage">ai-all</prohibits>`), "unknown deny deny"},
		{
			name: "the unsupported word ai-index",
			in:   one(`<prohibits type="usage">ai-index</prohibits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "an unknown word",
			in:   one(`<permits type="usage">dance</permits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "the word train-ai of the guides",
			in:   one(`<prohibits type="usage">train-ai</prohibits>`),
			want: "unknown deny unknown",
		},
		{"an empty license", one(""), "unknown unknown unknown"},
		{
			name: "a permit and a prohibition",
			in:   one(permitsTraining + prohibitsTraining),
			want: "unknown deny unknown",
		},
		{
			name: "a permit of all and a prohibition",
			in:   one(`<permits type="usage">all</permits><prohibits type="usage">ai-train</prohibits>`),
			want: "allow deny allow",
		},

		{"a free license", one(permitsTraining + `<payment type="free"/>`), "unknown allow unknown"},
		{
			name: "a license with a payment",
			in:   one(permitsTraining + `<payment type="crawl"><amount currency="USD">0.01</amount></payment>`),
			want: "unknown unknown unknown",
		},
		{
			name: "a license with attribution",
			in:   one(permitsTraining + `<payment type="attribution"/>`),
			want: "unknown unknown unknown",
		},
		{
			name: "a prohibition with a payment",
			in:   one(prohibitsTraining + `<payment type="crawl"/>`),
			want: "unknown deny unknown",
		},
		{
			name: "a permit limited to some users",
			in:   one(permitsTraining + `<permits type="user">non-commercial</permits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "a permit that excludes a region",
			in:   one(permitsTraining + `<prohibits type="geo">EU</prohibits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "a permit with reporting",
			in:   one(permitsTraining + `<reporting type="telemetry" profile="x"/>`),
			want: "unknown unknown unknown",
		},
		{
			name: "with a license from a server",
			in: withRSL(
				t,
				"/",
				rslFile(`<content url="/" server="https://a.example/olp"><license>`+permitsTraining+`</license></content>`),
			),
			want: "unknown unknown unknown",
		},

		{
			name: "two licenses, one of which permits",
			in:   one(prohibitsTraining, permitsTraining),
			want: "unknown allow unknown",
		},
		{
			name: "two licenses, one of which permits for a payment",
			in:   one(prohibitsTraining, permitsTraining+`<payment type="purchase"/>`),
			want: "unknown unknown unknown",
		},
		{
			name: "two licenses that prohibit",
			in:   one(prohibitsTraining, `<prohibits type="usage">all</prohibits>`),
			want: "deny deny deny",
		},

		{"a url of another path", at("/b", of("/a")), "unknown unknown unknown"},
		{"a url of the path", at("/a/b?c", of("/a")), "unknown deny unknown"},
		{"a url with a pattern", at("/x/y.pdf", of("/*.pdf$")), "unknown deny unknown"},
		{"a url with a pattern that ends", at("/x/y.pdf?z", of("/*.pdf$")), "unknown unknown unknown"},
		{"an empty url", at("/x", of("")), "unknown deny unknown"},
		{"an absolute url", at("/x/y", of("https://a.example/x")), "unknown deny unknown"},
		{
			name: "an absolute url of another path",
			in:   at("/y", of("https://a.example/x")),
			want: "unknown unknown unknown",
		},
		{
			name: "an absolute url without a path",
			in:   at("/y", of("https://a.example")),
			want: "unknown deny unknown",
		},
		{
			name: "an absolute url and an absolute target",
			in:   at("https://A.example/x/y", of("https://a.example/x/*")),
			want: "unknown deny unknown",
		},
		{
			name: "an absolute url with the default port",
			in:   at("https://a.example/x/y", of("https://a.example:443/x/*")),
			want: "unknown deny unknown",
		},
		{
			name: "an absolute url with another port",
			in:   at("https://a.example/x/y", of("https://a.example:8443/x/*")),
			want: "unknown unknown unknown",
		},
		{
			name: "an absolute url of another host",
			in:   at("https://b.example/x/y", of("https://a.example/x/*")),
			want: "unknown unknown unknown",
		},
		{
			name: "an absolute url of another scheme",
			in:   at("http://a.example/x/y", of("https://a.example/x/*")),
			want: "unknown unknown unknown",
		},
		{"a url that is not a path", at("/x", of("x")), "unknown unknown unknown"},
		{
			name: "a longer url after a shorter one",
			in: at(
				"/open/x",
				of("/"),
				`<content url="/open/"><license>`+permitsTraining+`</license></content>`,
			),
			want: "unknown allow unknown",
		},
		{
			name: "an empty url and the url /",
			in:   at("/x", of(""), forAllURLs(permitsTraining)),
			want: "unknown deny unknown",
		},
		{
			name: "a longer url before a shorter one",
			in: at(
				"/open/x",
				`<content url="/open/"><license>`+permitsTraining+`</license></content>`,
				of("/"),
			),
			want: "unknown allow unknown",
		},
		{
			name: "two equal urls",
			in:   at("/x", of("/"), forAllURLs(permitsTraining)),
			want: "unknown deny unknown",
		},

		{
			name: "two files",
			in: withRSL(
				t,
				"/",
				rslFile(forAllURLs(permitsTraining)),
				rslFile(forAllURLs(`<prohibits type="usage">search</prohibits>`)),
			),
			want: "deny allow unknown",
		},
		{"empty files", Input{RSL: []*RSL{nil, new(RSL)}}, "unknown unknown unknown"},
		{
			name: "a file and robots.txt",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n"),
				RSL:    one(permitsTraining).RSL,
			},
			want: "unknown deny unknown",
		},

		{
			name: "a file without a namespace",
			in:   withRSL(t, "/", `<rsl>`+forAllURLs(prohibitsTraining)+`</rsl>`),
			want: "unknown deny unknown",
		},
		{
			name: "a file with a namespace prefix",
			in: withRSL(
				t,
				"/",
				`<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content url="/"><r:license>`+
					`<r:prohibits type="usage">all</r:prohibits></r:license></r:content></r:rsl>`,
			),
			want: "deny deny deny",
		},
		{
			name: "elements of other namespaces",
			in: withRSL(
				t,
				"/",
				rslFile(`<content url="/" xmlns:x="urn:x">`+
					`<x:license><permits type="usage">all</permits></x:license>`+
					`<schema><license/></schema>`+
					`<license><!-- a --><x:permits type="usage">search</x:permits>`+
					`<permits type="usage"><b>search</b>ai-input</permits></license></content>`),
			),
			want: "unknown unknown allow",
		},
		{
			name: "terms outside of a license",
			in: withRSL(
				t,
				"/",
				rslFile(`<content url="/"><permits type="usage">all</permits></content>`),
			),
			want: "unknown unknown unknown",
		},
	})
}

func TestRSL_Evidence(t *testing.T) {
	in := withRSL(t, "/news/1", rslFile(
		`<content url="/news/" server="https://a.example/olp">`,
		`<license><prohibits type="usage">ai-train</prohibits></license>`,
		`<license>`,
		`<permits type="usage">search ai-input</permits>`,
		`<payment type="use"><standard>https://a.example/std</standard>`+
			`<custom> https://a.example/terms </custom><amount currency="USD">1</amount></payment>`,
		`</license></content>`))
	var got []string
	for _, s := range in.Says() {
		got = append(got, fmt.Sprintf("%s: %v at %s, terms %q", s.Use, s, s.Path, s.Policy))
	}
	const permits = `RSL in RSL file, line 5: permits search ai-input, payment use, ` +
		`license from https://a.example/olp at /news/, terms "https://a.example/terms"`
	want := []string{
		`search: unknown by ` + permits,
		`train-ai: deny by RSL in RSL file, line 3: prohibits ai-train at /news/, terms ""`,
		`train-ai-images: deny by RSL in RSL file, line 3: prohibits ai-train at /news/, terms ""`,
		`ai-input: unknown by ` + permits,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Says() returns\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v := in.For(Search); v.Answer != Unknown || !strings.Contains(v.String(), "payment use") {
		t.Errorf("For(Search) = %v, want unknown, because of a payment", v)
	}
}

func TestParseRSL_Errors(t *testing.T) {
	good := rslFile(forAllURLs(`<prohibits type="usage">all</prohibits>`))
	for name, tt := range map[string]struct{ text, want string }{
		"an empty license":          {"", "no element"},
		"only white space":          {" \n", "no element"},
		"HTML":                      {"<!doctype html><html><p>no such page</html>", "<html>"},
		"RSS":                       {`<rss version="2.0"></rss>`, "<rss>"},
		"text":                      {"User-agent: *", "no element"},
		"a truncated file":          {good[:len(good)-8], "unexpected EOF"},
		"a file that ends in a tag": {good[:len(good)/2], "EOF"},
		"a wrong end tag":           {strings.Replace(good, "</license>", "</licence>", 1), "licence"},
		"an unknown entity":         {strings.Replace(good, "all", "&xxe;", 1), "entity"},
		"an entity of a DTD": {
			text: `<!DOCTYPE rsl [<!ENTITY a "all">]>` +
				strings.Replace(good[strings.Index(good, "<rsl"):], "all", "&a;", 1),
			want: "entity",
		},
		"another encoding": {strings.Replace(good, "UTF-8", "UTF-16", 1), "encoding"},
		"too many bytes":   {good + strings.Repeat(" ", 1<<20), "bytes"},
		"too many elements": {
			text: rslFile(strings.Repeat(`<content url="/"/>`, 30_000)),
			want: "maximum is 30000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := ParseRSL([]byte(tt.text))
			if err == nil || f != nil {
				t.Fatalf("ParseRSL = %v, %v, want an error", f, err)
			}
			text := err.Error()
			if !strings.HasPrefix(text, "preference: ") || !strings.Contains(text, tt.want) {
				t.Errorf("ParseRSL returns the error %q, want one of preference that contains %q", text, tt.want)
			}
		})
	}
}

// TestParseRSL_LargeFiles checks a file with the maximum number of tags, and
// one whose unknown elements are nested deeply.
func TestParseRSL_LargeFiles(t *testing.T) {
	deep := withRSL(t, "/", rslFile(strings.Repeat("<x>", 14_000)+strings.Repeat("</x>", 14_000)))
	if n := len(deep.Says()); n != 0 {
		t.Errorf("nested elements have %d statements, want none", n)
	}
	in := withRSL(
		t,
		"/",
		rslFile(forAllURLs(strings.Repeat(`<permits type="usage">search</permits>`, 14_000))),
	)
	if n := len(in.Says()); n != 14_000 {
		t.Errorf("14,000 terms have %d statements, want 14,000", n)
	}
}

// TestContentSignal_UnknownLabels checks that Says returns labels that have no
// Use, such as "use=reference" of Cloudflare, and that the other labels of the
// line are parsed.
func TestContentSignal_UnknownLabels(t *testing.T) {
	in := Input{
		Robots: robotstxt.Parse([]byte("User-agent: *\n" +
			"Content-Signal: search=yes,ai-train=no,use=reference\n" +
			"Allow: /\n")),
		Header: http.Header{"Content-Signal": {"USE = immediate; x=1"}},
	}
	for use, want := range map[Use]Answer{Search: Allow, TrainAI: Deny, AIInput: Unknown} {
		if got := in.For(use).Answer; got != want {
			t.Errorf("For(%s).Answer = %s, want %s", use, got, want)
		}
	}
	var got []string
	for _, s := range in.Says() {
		if s.Answer == Unknown {
			got = append(got, fmt.Sprint(s.Use, ": ", s))
		}
	}
	want := "use: unknown by Content-Signal in robots.txt, line 2: use=reference|" +
		"use: unknown by Content-Signal in header, line 1: use=immediate|" +
		"x: unknown by Content-Signal in header, line 1: x=1"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("the unknown statements are\n%s, want\n%s", s, want)
	}
}

func FuzzParseRSL(f *testing.F) {
	f.Add(rslFile(forAllURLs(`<permits type="usage">search</permits><payment type="free"/>`)), "/a")
	f.Add(rslFile(`<content url="https://a.example/*" server="x"><license>`+
		`<prohibits type="usage">all</prohibits></license></content>`), "https://a.example/b")
	f.Add(`<rsl><content url=""><license><permits type="geo">EU</permits></license></content></rsl>`,
		"")
	f.Add(`<rsl><content`, "?")
	f.Fuzz(func(t *testing.T, text, target string) {
		file, err := ParseRSL([]byte(text))
		if (err == nil) != (file != nil) {
			t.Fatalf("ParseRSL = %v, %v, want either a file or an error", file, err)
		}
		in := Input{RSL: []*RSL{file}, Target: target}
		for _, s := range in.Says() {
			if s.Signal != "RSL" || s.Line < 1 {
				t.Fatalf("Says() returns the statement %+v, want one of RSL with its line", s)
			}
		}
		checkStatements(t, in)
	})
}
