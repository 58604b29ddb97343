package preference

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func rslFile(contents ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<rsl xmlns="https://rslstandard.org/rsl">` + strings.Join(contents, "\n") + "</rsl>\n"
}

// forAllURLs returns a content element for all URLs, with these
// licenses.
func forAllURLs(licenses ...string) string {
	return `<content url="/"><license>` + strings.Join(licenses, "</license><license>") + `</license></content>`
}

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

// The rows follow RSL 1.0 (rslstandard.org/rsl).
func TestRSL(t *testing.T) {
	const permitsTraining, prohibitsTraining = `<permits type="usage">ai-train</permits>`, `<prohibits type="usage">ai-train</prohibits>`
	one := func(licenses ...string) Input { return withRSL(t, "/a", rslFile(forAllURLs(licenses...))) }
	at := func(target string, contents ...string) Input { return withRSL(t, target, rslFile(contents...)) }
	of := func(url string) string {
		return fmt.Sprintf(`<content url=%q><license>%s</license></content>`,
			url, prohibitsTraining)
	}
	run(t, []check{
		// The answers are about Search, TrainAI and AIInput.
		{"it permits", one(permitsTraining), "unknown allow unknown"},
		{"it prohibits", one(prohibitsTraining), "unknown deny unknown"},
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
			name: "ai-index, which has no name here",
			in:   one(`<prohibits type="usage">ai-index</prohibits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "a word of later versions",
			in:   one(`<permits type="usage">dance</permits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "train-ai, as its guides write",
			in:   one(`<prohibits type="usage">train-ai</prohibits>`),
			want: "unknown deny unknown",
		},
		{"nothing", one(""), "unknown unknown unknown"},
		{
			name: "prohibits outweighs permits",
			in:   one(permitsTraining + prohibitsTraining),
			want: "unknown deny unknown",
		},
		{
			name: "all but one",
			in:   one(`<permits type="usage">all</permits><prohibits type="usage">ai-train</prohibits>`),
			want: "allow deny allow",
		},

		{"for free", one(permitsTraining + `<payment type="free"/>`), "unknown allow unknown"},
		{
			name: "for money",
			in:   one(permitsTraining + `<payment type="crawl"><amount currency="USD">0.01</amount></payment>`),
			want: "unknown unknown unknown",
		},
		{
			name: "for a name",
			in:   one(permitsTraining + `<payment type="attribution"/>`),
			want: "unknown unknown unknown",
		},
		{
			name: "for no money",
			in:   one(prohibitsTraining + `<payment type="crawl"/>`),
			want: "unknown deny unknown",
		},
		{
			name: "to some",
			in:   one(permitsTraining + `<permits type="user">non-commercial</permits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "not to some",
			in:   one(permitsTraining + `<prohibits type="geo">EU</prohibits>`),
			want: "unknown unknown unknown",
		},
		{
			name: "to those who report",
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
			name: "a choice of licenses, one is for all",
			in:   one(prohibitsTraining, permitsTraining),
			want: "unknown allow unknown",
		},
		{
			name: "a choice of licenses, one is to be paid",
			in:   one(prohibitsTraining, permitsTraining+`<payment type="purchase"/>`),
			want: "unknown unknown unknown",
		},
		{
			name: "a choice of licenses, none permits",
			in:   one(prohibitsTraining, `<prohibits type="usage">all</prohibits>`),
			want: "deny deny deny",
		},

		{"another path", at("/b", of("/a")), "unknown unknown unknown"},
		{"the path", at("/a/b?c", of("/a")), "unknown deny unknown"},
		{"a pattern", at("/x/y.pdf", of("/*.pdf$")), "unknown deny unknown"},
		{"a pattern that ends", at("/x/y.pdf?z", of("/*.pdf$")), "unknown unknown unknown"},
		{"no url is all of it", at("/x", of("")), "unknown deny unknown"},
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
			name: "an absolute url, and so is the target",
			in:   at("https://A.example/x/y", of("https://a.example/x/*")),
			want: "unknown deny unknown",
		},
		{
			name: "with the default port",
			in:   at("https://a.example/x/y", of("https://a.example:443/x/*")),
			want: "unknown deny unknown",
		},
		{
			name: "of another port",
			in:   at("https://a.example/x/y", of("https://a.example:8443/x/*")),
			want: "unknown unknown unknown",
		},
		{
			name: "of another host",
			in:   at("https://b.example/x/y", of("https://a.example/x/*")),
			want: "unknown unknown unknown",
		},
		{
			name: "of another scheme",
			in:   at("http://a.example/x/y", of("https://a.example/x/*")),
			want: "unknown unknown unknown",
		},
		{"a pattern that is no path", at("/x", of("x")), "unknown unknown unknown"},
		{
			name: "the longest wins",
			in: at(
				"/open/x",
				of("/"),
				`<content url="/open/"><license>`+permitsTraining+`</license></content>`,
			),
			want: "unknown allow unknown",
		},
		{
			name: "an empty one is as long as /",
			in:   at("/x", of(""), forAllURLs(permitsTraining)),
			want: "unknown deny unknown",
		},
		{
			name: "in whatever order",
			in: at(
				"/open/x",
				`<content url="/open/"><license>`+permitsTraining+`</license></content>`,
				of("/"),
			),
			want: "unknown allow unknown",
		},
		{
			name: "equally long ones add up",
			in:   at("/x", of("/"), forAllURLs(permitsTraining)),
			want: "unknown deny unknown",
		},

		{
			name: "two files add up",
			in: withRSL(
				t,
				"/",
				rslFile(forAllURLs(permitsTraining)),
				rslFile(forAllURLs(`<prohibits type="usage">search</prohibits>`)),
			),
			want: "deny allow unknown",
		},
		{"no file", Input{RSL: []*RSL{nil, new(RSL)}}, "unknown unknown unknown"},
		{
			name: "beside robots.txt",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n"),
				RSL:    one(permitsTraining).RSL,
			},
			want: "unknown deny unknown",
		},

		{
			name: "without a namespace",
			in:   withRSL(t, "/", `<rsl>`+forAllURLs(prohibitsTraining)+`</rsl>`),
			want: "unknown deny unknown",
		},
		{
			name: "with a prefix",
			in: withRSL(
				t,
				"/",
				`<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content url="/"><r:license><r:prohibits type="usage">all</r:prohibits></r:license></r:content></r:rsl>`,
			),
			want: "deny deny deny",
		},
		{
			name: "another vocabulary in it",
			in: withRSL(
				t,
				"/",
				rslFile(`<content url="/" xmlns:x="urn:x"><x:license><permits type="usage">all</permits></x:license><schema><license/></schema><license><!-- a --><x:permits type="usage">search</x:permits><permits type="usage"><b>search</b>ai-input</permits></license></content>`),
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
		`<payment type="use"><standard>https://a.example/std</standard><custom> https://a.example/terms </custom><amount currency="USD">1</amount></payment>`,
		`</license></content>`))
	var got []string
	for _, s := range in.Says() {
		got = append(got, fmt.Sprintf("%s: %v at %s, terms %q", s.Use, s, s.Path, s.Policy))
	}
	want := []string{
		`search: unknown by RSL in RSL file, line 5: permits search ai-input, payment use, license from https://a.example/olp at /news/, terms "https://a.example/terms"`,
		`train-ai: deny by RSL in RSL file, line 3: prohibits ai-train at /news/, terms ""`,
		`train-ai-images: deny by RSL in RSL file, line 3: prohibits ai-train at /news/, terms ""`,
		`ai-input: unknown by RSL in RSL file, line 5: permits search ai-input, payment use, license from https://a.example/olp at /news/, terms "https://a.example/terms"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v := in.For(Search); v.Answer != Unknown || !strings.Contains(v.String(), "payment use") {
		t.Errorf("got %v; want unknown, because of a payment", v)
	}
}

func TestParseRSL_Errors(t *testing.T) {
	good := rslFile(forAllURLs(`<prohibits type="usage">all</prohibits>`))
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":      {"", "no element"},
		"white space":  {" \n", "no element"},
		"HTML":         {"<!doctype html><html><p>no such page</html>", "<html>"},
		"RSS":          {`<rss version="2.0"></rss>`, "<rss>"},
		"text":         {"User-agent: *", "no element"},
		"cut":          {good[:len(good)-8], "unexpected EOF"},
		"cut at a tag": {good[:len(good)/2], "EOF"},
		"a wrong end":  {strings.Replace(good, "</license>", "</licence>", 1), "licence"},
		"an entity":    {strings.Replace(good, "all", "&xxe;", 1), "entity"},
		"an entity of a DTD": {
			text: `<!DOCTYPE rsl [<!ENTITY a "all">]>` + strings.Replace(good[strings.Index(good, "<rsl"):], "all", "&a;", 1),
			want: "entity",
		},
		"another encoding": {strings.Replace(good, "UTF-8", "UTF-16", 1), "encoding"},
		"too long":         {good + strings.Repeat(" ", 1<<20), "bytes"},
		"too many elements": {
			text: rslFile(strings.Repeat(`<content url="/"/>`, 30_000)),
			want: "maximum is 30000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := ParseRSL([]byte(tt.text))
			if err == nil || f != nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "preference: ") {
				t.Errorf("%v, %v; want an error that says %q", f, err, tt.want)
			}
		})
	}
}

// A file that has as many terms as a file may have makes a limited number of
// statements, and one of deep elements that are not known makes none.
func TestParseRSL_Bounds(t *testing.T) {
	deep := withRSL(t, "/", rslFile(strings.Repeat("<x>", 14_000)+strings.Repeat("</x>", 14_000)))
	if n := len(deep.Says()); n != 0 {
		t.Errorf("deep: %d statements", n)
	}
	in := withRSL(
		t,
		"/",
		rslFile(forAllURLs(strings.Repeat(`<permits type="usage">search</permits>`, 14_000))),
	)
	if n := len(in.Says()); n != 14_000 {
		t.Errorf("%d statements", n)
	}
}

// Cloudflare writes "use=reference". This package does not know the key "use",
// but the method Says returns it, and the other keys of the line are read.
func TestContentSignal_KeepsUnknownKeys(t *testing.T) {
	in := Input{
		Robots: robotstxt.Parse([]byte("User-agent: *\n" +
			"Content-Signal: search=yes,ai-train=no,use=reference\n" +
			"Allow: /\n")),
		Header: http.Header{"Content-Signal": {"USE = immediate; x=1"}},
	}
	if in.For(Search).Answer != Allow || in.For(TrainAI).Answer != Deny || in.For(AIInput).Answer != Unknown {
		t.Errorf("got %s, %s and %s from %v; want allow, deny and unknown",
			in.For(Search).Answer, in.For(TrainAI).Answer, in.For(AIInput).Answer, in.Says())
	}
	var got []string
	for _, s := range in.Says() {
		if s.Answer == Unknown {
			got = append(got, fmt.Sprint(s.Use, ": ", s))
		}
	}
	want := "use: unknown by Content-Signal in robots.txt, line 2: use=reference|" +
		"use: unknown by Content-Signal in header, line 1: use=immediate|x: unknown by Content-Signal in header, line 1: x=1"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

func FuzzParseRSL(f *testing.F) {
	f.Add(rslFile(forAllURLs(`<permits type="usage">search</permits><payment type="free"/>`)), "/a")
	f.Add(rslFile(`<content url="https://a.example/*" server="x"><license><prohibits type="usage">all</prohibits></license></content>`), "https://a.example/b")
	f.Add(`<rsl><content url=""><license><permits type="geo">EU</permits></license></content></rsl>`,
		"")
	f.Add(`<rsl><content`, "?")
	f.Fuzz(func(t *testing.T, text, target string) {
		file, err := ParseRSL([]byte(text))
		if (err == nil) != (file != nil) {
			t.Fatalf("%v, %v", file, err)
		}
		in := Input{RSL: []*RSL{file}, Target: target}
		for _, s := range in.Says() {
			if s.Signal != "RSL" || s.Line < 1 {
				t.Fatalf("got %+v; want an RSL statement with its line", s)
			}
		}
		checkSaid(t, in)
	})
}
