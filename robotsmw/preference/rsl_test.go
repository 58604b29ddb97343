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
		return fmt.Sprintf(`<content url=%q><license>%s</license></content>`, url, prohibitsTraining)
	}
	run(t, []check{
		// The answers are about Search, TrainAI and AIInput.
		{"it permits", one(permitsTraining), "unknown allow unknown"},
		{"it prohibits", one(prohibitsTraining), "unknown deny unknown"},
		{"search", one(`<permits type="usage">search</permits><prohibits type="usage">ai-input</prohibits>`), "allow unknown deny"},
		{"several words", one(`<permits type="usage"> search, ai-input
			AI-TRAIN </permits>`), "allow allow allow"},
		{"all", one(`<prohibits type="usage">all</prohibits>`), "deny deny deny"},
		{"ai-all", one(`<prohibits type="usage">ai-all</prohibits>`), "unknown deny deny"},
		{"ai-index, which has no name here", one(`<prohibits type="usage">ai-index</prohibits>`), "unknown unknown unknown"},
		{"a word of later versions", one(`<permits type="usage">dance</permits>`), "unknown unknown unknown"},
		{"train-ai, as its guides write", one(`<prohibits type="usage">train-ai</prohibits>`), "unknown deny unknown"},
		{"nothing", one(""), "unknown unknown unknown"},
		{"prohibits outweighs permits", one(permitsTraining + prohibitsTraining), "unknown deny unknown"},
		{"all but one", one(`<permits type="usage">all</permits><prohibits type="usage">ai-train</prohibits>`), "allow deny allow"},

		{"for free", one(permitsTraining + `<payment type="free"/>`), "unknown allow unknown"},
		{"for money", one(permitsTraining + `<payment type="crawl"><amount currency="USD">0.01</amount></payment>`), "unknown unknown unknown"},
		{"for a name", one(permitsTraining + `<payment type="attribution"/>`), "unknown unknown unknown"},
		{"for no money", one(prohibitsTraining + `<payment type="crawl"/>`), "unknown deny unknown"},
		{"to some", one(permitsTraining + `<permits type="user">non-commercial</permits>`), "unknown unknown unknown"},
		{"not to some", one(permitsTraining + `<prohibits type="geo">EU</prohibits>`), "unknown unknown unknown"},
		{"to those who report", one(permitsTraining + `<reporting type="telemetry" profile="x"/>`), "unknown unknown unknown"},
		{"with a license from a server", withRSL(t, "/", rslFile(`<content url="/" server="https://a.example/olp"><license>`+permitsTraining+`</license></content>`)), "unknown unknown unknown"},

		{"a choice of licenses, one is for all", one(prohibitsTraining, permitsTraining), "unknown allow unknown"},
		{"a choice of licenses, one is to be paid", one(prohibitsTraining, permitsTraining+`<payment type="purchase"/>`), "unknown unknown unknown"},
		{"a choice of licenses, none permits", one(prohibitsTraining, `<prohibits type="usage">all</prohibits>`), "deny deny deny"},

		{"another path", at("/b", of("/a")), "unknown unknown unknown"},
		{"the path", at("/a/b?c", of("/a")), "unknown deny unknown"},
		{"a pattern", at("/x/y.pdf", of("/*.pdf$")), "unknown deny unknown"},
		{"a pattern that ends", at("/x/y.pdf?z", of("/*.pdf$")), "unknown unknown unknown"},
		{"no url is all of it", at("/x", of("")), "unknown deny unknown"},
		{"an absolute url", at("/x/y", of("https://a.example/x")), "unknown deny unknown"},
		{"an absolute url of another path", at("/y", of("https://a.example/x")), "unknown unknown unknown"},
		{"an absolute url without a path", at("/y", of("https://a.example")), "unknown deny unknown"},
		{"an absolute url, and so is the target", at("https://A.example/x/y", of("https://a.example/x/*")), "unknown deny unknown"},
		{"with the default port", at("https://a.example/x/y", of("https://a.example:443/x/*")), "unknown deny unknown"},
		{"of another port", at("https://a.example/x/y", of("https://a.example:8443/x/*")), "unknown unknown unknown"},
		{"of another host", at("https://b.example/x/y", of("https://a.example/x/*")), "unknown unknown unknown"},
		{"of another scheme", at("http://a.example/x/y", of("https://a.example/x/*")), "unknown unknown unknown"},
		{"a pattern that is no path", at("/x", of("x")), "unknown unknown unknown"},
		{"the longest wins", at("/open/x", of("/"), `<content url="/open/"><license>`+permitsTraining+`</license></content>`), "unknown allow unknown"},
		{"an empty one is as long as /", at("/x", of(""), forAllURLs(permitsTraining)), "unknown deny unknown"},
		{"in whatever order", at("/open/x", `<content url="/open/"><license>`+permitsTraining+`</license></content>`, of("/")), "unknown allow unknown"},
		{"equally long ones add up", at("/x", of("/"), forAllURLs(permitsTraining)), "unknown deny unknown"},

		{"two files add up", withRSL(t, "/", rslFile(forAllURLs(permitsTraining)), rslFile(forAllURLs(`<prohibits type="usage">search</prohibits>`))), "deny allow unknown"},
		{"no file", Input{RSL: []*RSL{nil, new(RSL)}}, "unknown unknown unknown"},
		{"beside robots.txt", Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n"), RSL: one(permitsTraining).RSL}, "unknown deny unknown"},

		{"without a namespace", withRSL(t, "/", `<rsl>`+forAllURLs(prohibitsTraining)+`</rsl>`), "unknown deny unknown"},
		{"with a prefix", withRSL(t, "/", `<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content url="/"><r:license><r:prohibits type="usage">all</r:prohibits></r:license></r:content></r:rsl>`), "deny deny deny"},
		{"another vocabulary in it", withRSL(t, "/", rslFile(`<content url="/" xmlns:x="urn:x"><x:license><permits type="usage">all</permits></x:license><schema><license/></schema><license><!-- a --><x:permits type="usage">search</x:permits><permits type="usage"><b>search</b>ai-input</permits></license></content>`)), "unknown unknown allow"},
		{"terms outside of a license", withRSL(t, "/", rslFile(`<content url="/"><permits type="usage">all</permits></content>`)), "unknown unknown unknown"},
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
		"nothing":            {"", "no element"},
		"white space":        {" \n", "no element"},
		"HTML":               {"<!doctype html><html><p>no such page</html>", "<html>"},
		"RSS":                {`<rss version="2.0"></rss>`, "<rss>"},
		"text":               {"User-agent: *", "no element"},
		"cut":                {good[:len(good)-8], "unexpected EOF"},
		"cut at a tag":       {good[:len(good)/2], "EOF"},
		"a wrong end":        {strings.Replace(good, "</license>", "</licence>", 1), "licence"},
		"an entity":          {strings.Replace(good, "all", "&xxe;", 1), "entity"},
		"an entity of a DTD": {`<!DOCTYPE rsl [<!ENTITY a "all">]>` + strings.Replace(good[strings.Index(good, "<rsl"):], "all", "&a;", 1), "entity"},
		"another encoding":   {strings.Replace(good, "UTF-8", "UTF-16", 1), "encoding"},
		"too long":           {good + strings.Repeat(" ", 1<<20), "bytes"},
		"too many elements":  {rslFile(strings.Repeat(`<content url="/"/>`, 30_000)), "maximum is 30000"},
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
	in := withRSL(t, "/", rslFile(forAllURLs(strings.Repeat(`<permits type="usage">search</permits>`, 14_000))))
	if n := len(in.Says()); n != 14_000 {
		t.Errorf("%d statements", n)
	}
}

// Cloudflare writes "use=reference". This package does not know the key "use",
// but the method Says returns it, and the other keys of the line are read.
func TestContentSignal_KeepsUnknownKeys(t *testing.T) {
	in := Input{
		Robots: robotstxt.Parse([]byte("User-agent: *\nContent-Signal: search=yes,ai-train=no,use=reference\nAllow: /\n")),
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
	f.Add(`<rsl><content url=""><license><permits type="geo">EU</permits></license></content></rsl>`, "")
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
