package pagelinks

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// list writes each link as its URL, with the attributes of the link in
// parentheses.
func list(links []Link) string {
	var b strings.Builder
	for _, l := range links {
		b.WriteString(l.URL.String())
		for name, on := range map[string]bool{"(nofollow)": l.NoFollow, "(ugc)": hasRel(
			l.Rel,
			"ugc",
		), "(sponsored)": hasRel(l.Rel, "sponsored")} {
			if on {
				b.WriteString(name)
			}
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func parse(t testing.TB, address, html string, directives robotsmw.Page) *Page {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := FromHTML(t.Context(), []byte(html), u, directives, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLinks(t *testing.T) {
	for _, test := range []struct{ name, html, want string }{
		{"relative", `<a href="x?y=1#z">`, "http://a.example/dir/x?y=1"},
		{"absolute", `<a href="https://b.example">`, "https://b.example"},
		{"without a scheme", `<a href="//b.example/x">`, "http://b.example/x"},
		{"white space", "<a href=' /a\n/b '>", "http://a.example/a/b"},
		{
			name: "base",
			html: `<base target="x"><base href="/other/"><base href="/third/"><a href="x">`,
			want: "http://a.example/other/x",
		},
		{
			name: "a base that leads nowhere",
			html: `<base href="javascript:0"><a href="x">`,
			want: "http://a.example/dir/x",
		},
		{
			name: "elements",
			html: `<area href=1><iframe src=2></iframe><a href=3>`,
			want: "http://a.example/dir/1 http://a.example/dir/2 http://a.example/dir/3",
		},
		{"frames", `<frameset><frame src=1></frameset>`, "http://a.example/dir/1"},
		{
			name: "other schemes",
			html: `<a href="mailto:x@y"><a href="javascript:void(0)"><a href="data:,x"><a href="tel:1">`,
		},
		{
			name: "addresses that cannot be parsed",
			html: `<a href="/50%-off"><a href="http://x:port/"><a href="/a?50%-off">`,
			want: "http://a.example/a?50%-off",
		},
		{"not an address", `<a href="http://[">`, ""},
		{"no href", `<a name=x><a>`, ""},
		{
			name: "rel",
			html: `<a rel="external NoFollow" href=1><a rel="ugc" href=2><a rel="nofollow2" href=3>`,
			want: "http://a.example/dir/1(nofollow) http://a.example/dir/2(ugc) http://a.example/dir/3",
		},
		{
			name: "rel with commas",
			html: `<a rel="noopener,nofollow" href=1>`,
			want: "http://a.example/dir/1(nofollow)",
		},
		{"template", `<template><a href=1></a></template><a href=2>`, "http://a.example/dir/2"},
		{"noscript", `<noscript><a href=1>x</a></noscript>`, "http://a.example/dir/1"},
		{
			name: "noscript in the head",
			html: `<head><noscript><meta http-equiv=refresh content="0; url=1"></noscript></head>`,
			want: "http://a.example/dir/1",
		},
		{"comment", `<!-- <a href=1> -->`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, "http://a.example/dir/page", test.html, robotsmw.Page{})
			if got := list(p.Links); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	for content, want := range map[string]string{
		"5; url=/next":            "5s http://a.example/next",
		"0;URL='next'":            "0s http://a.example/dir/next",
		`0; url="next" rest`:      "0s http://a.example/dir/next",
		"1.5, next":               "1s http://a.example/dir/next",
		"30":                      "30s http://a.example/dir/page",
		"99999999999999;url=next": "", // the test does not use this "", and checks only that Delay is a day or more
		"next":                    "",
		"":                        "",
		"0; url=javascript:x":     "",
	} {
		p := parse(
			t,
			"http://a.example/dir/page",
			`<meta http-equiv="Refresh" content="`+strings.ReplaceAll(content, `"`, "&quot;")+`">`,
			robotsmw.Page{},
		)
		got := ""
		if p.Refresh != nil {
			got = fmt.Sprint(p.Refresh.Delay, " ", p.Refresh.URL)
		}
		if strings.HasPrefix(content, "999") {
			if p.Refresh == nil || p.Refresh.Delay < 24*time.Hour {
				t.Errorf("%q: %s", content, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

func TestCanonicalAndLicense(t *testing.T) {
	p := parse(t, "http://a.example/dir/page?session=1", `<link rel="stylesheet" href="x.css"><link rel="canonical" href="page">
		<link rel="license" type="application/rsl+xml" href="/license.xml">`, robotsmw.Page{})
	if p.Canonical == nil || p.Canonical.String() != "http://a.example/dir/page" {
		t.Error(p.Canonical)
	}
	if len(p.Licenses) != 1 || p.Licenses[0].String() != "http://a.example/license.xml" {
		t.Error(p.Licenses)
	}
}

func TestNoFollowPageCoversItsRefresh(t *testing.T) {
	p := parse(
		t,
		"http://a.example/",
		`<meta http-equiv=refresh content="0;url=/x"><a href=/y>`,
		robotsmw.Page{Directives: robotsmeta.ParseContent("nofollow")},
	)
	if q := p.Queue(); len(p.Links) != 2 || len(q) != 0 {
		t.Errorf("%v is queued", q)
	}
}

func TestQueue(t *testing.T) {
	const html = `<a href=/1><a rel=nofollow href=/2><a rel=ugc href=/3><a rel=sponsored href=/4><a href=/1#again><a href=/2>`
	for _, test := range []struct {
		name string
		html string
		want string
	}{
		{"either of two links will do", html, "/1 /3 /4 /2"},
		{"rel is obeyed", `<a rel=nofollow href=/2>`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, "http://a.example/", test.html, robotsmw.Page{})
			var paths []string
			for _, u := range p.Queue() {
				paths = append(paths, u.Path)
			}
			if got := strings.Join(paths, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// newWeb returns a network with two sites: one has rules, and one is down.
func newWeb() *robotstest.Internet {
	web := new(robotstest.Internet)
	web.Handle("a.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /private/",
		"/":           `<a href="/open">open</a> <a href="/private/x">private</a> <a href="http://down.example/x">down</a>`,
		"/quiet":      `<meta name="robots" content="nofollow"><a href="http://other.example/">`,
	})
	web.Handle("down.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }))
	return web
}

func newClient(t testing.TB, web *robotstest.Internet) (*http.Client, *robotsmw.Transport) {
	t.Helper()
	tr, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: tr}, tr
}

func TestRead_ChecksRobotsTxt(t *testing.T) {
	web := newWeb()
	client, tr := newClient(t, web)
	resp, err := client.Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(t.Context(), resp, tr.Checker())
	if err != nil {
		t.Fatal(err)
	}
	if q := p.Queue(); len(q) != 1 || q[0].Path != "/open" {
		t.Errorf("queue %v", q)
	}
	if l := p.Links[1]; l.Decision.RobotsURL == "" || l.Decision.Allowed || l.Decision.Rule != "/private/" {
		t.Errorf("got the link %+v; want it disallowed by the rule /private/", l)
	}
	if l := p.Links[2]; l.Decision.RobotsURL == "" || l.Decision.Allowed || l.Decision.Reason != robotsmw.Unreachable {
		t.Errorf("got the link %+v; want it disallowed, because robots.txt is unreachable", l)
	}
	if p.Says.State != robotsmw.PageComplete {
		t.Error(p.Says.State)
	}
}

func TestRead_ChecksOnlyLinksThatMayBeFollowed(t *testing.T) {
	web := newWeb()
	client, tr := newClient(t, web)
	resp, err := client.Get("http://a.example/quiet")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(t.Context(), resp, tr.Checker())
	if err != nil || len(p.Links) != 1 || len(p.Queue()) != 0 || p.Links[0].Decision.RobotsURL != "" {
		t.Errorf("%+v, %v", p.Links, err)
	}
	if n := len(web.Log()); n != 2 {
		t.Errorf("%d requests, want those of robots.txt and the page", n)
	}
}

func TestRead_CanceledContext(t *testing.T) {
	client, tr := newClient(t, newWeb())
	resp, err := client.Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := Read(ctx, resp, tr.Checker())
	if err == nil || p == nil || len(p.Links) != 3 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestReadErrors(t *testing.T) {
	if _, err := Read(t.Context(), &http.Response{Body: http.NoBody}, nil); err == nil || !strings.Contains(err.Error(), "Response.Request") {
		t.Error(err)
	}
	req, _ := http.NewRequest("GET", "http://a.example/", nil)
	broken := &http.Response{Request: req, Body: io.NopCloser(io.MultiReader(strings.NewReader("<a href=x>"), errReader{}))}
	if _, err := Read(t.Context(), broken, nil); err == nil || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Error(err)
	}
}

// serve returns a client of a server. The server has no robots.txt, and answers
// every other request with this header and page.
func serve(t *testing.T, header http.Header, page string) *http.Client {
	t.Helper()
	web := new(robotstest.Internet)
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		for name, values := range header {
			w.Header()[name] = values
		}
		io.WriteString(w, page)
	}))
	client, _ := newClient(t, web)
	return client
}

func TestReadBodies(t *testing.T) {
	const link = "<a href=/x>x</a>"
	wide := func(order binary.AppendByteOrder, mark string) string {
		b := []byte(mark)
		for _, unit := range utf16.Encode([]rune("<p>ü" + link)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	for _, test := range []struct {
		name, contentType, coding, page string
		links                           int // -1 means Read returns an error
		truncated                       bool
	}{
		{name: "HTML", contentType: "text/html", page: link, links: 1},
		{name: "no HTML", contentType: "application/pdf", page: link, links: 0},
		{
			name:        "no HTML, in a coding",
			contentType: "application/pdf",
			coding:      "br",
			page:        link,
			links:       0,
		},
		{name: "a coding", contentType: "text/html", coding: "br", page: link, links: -1},
		{
			name:        "a coding that is none",
			contentType: "text/html",
			coding:      "identity",
			page:        link,
			links:       1,
		},
		{
			name:        "longer than is read",
			contentType: "text/html",
			page:        link + strings.Repeat(" ", maxBytes-len(link)) + "<a href=/y>",
			links:       1,
			truncated:   true,
		},
		{
			name:        "as long as is read",
			contentType: "text/html",
			page:        link + strings.Repeat(" ", maxBytes-len(link)),
			links:       1,
		},
		{
			name:        "longer than the default",
			contentType: "text/html",
			page:        link + strings.Repeat(" ", 16<<20),
			links:       1,
			truncated:   true,
		},
		{
			name:        "UTF-16 with a mark",
			contentType: "text/html",
			page:        wide(binary.LittleEndian, "\xff\xfe"),
			links:       1,
		},
		{
			name:        "UTF-16 big-endian, with a mark",
			contentType: "text/html",
			page:        wide(binary.BigEndian, "\xfe\xff"),
			links:       1,
		},
		{
			name:        "UTF-16 without a mark",
			contentType: "text/html",
			page:        wide(binary.BigEndian, ""),
			links:       1,
		},
		{
			name:        "UTF-16 by its charset",
			contentType: "text/html; charset=UTF-16",
			page:        wide(binary.LittleEndian, "x\x00"),
			links:       1,
		},
		{
			name:        "UTF-16 by its charset, cut",
			contentType: "text/html; charset=UTF-16BE",
			page:        wide(binary.BigEndian, "\x00x") + "\x00",
			links:       1,
		},
		{
			name:        "UTF-16 is not what it is",
			contentType: "text/html; charset=UTF-16",
			page:        link,
			links:       1,
		},
		{name: "empty", contentType: "text/html; charset=UTF-16", page: "", links: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{"Content-Type": {test.contentType}}
			if test.coding != "" {
				header.Set("Content-Encoding", test.coding)
			}
			resp, err := serve(t, header, test.page).Get("http://a.example/")
			if err != nil {
				t.Fatal(err)
			}
			p, err := Read(t.Context(), resp, nil)
			switch {
			case err != nil && (test.links >= 0 || !strings.Contains(err.Error(), test.coding)):
				t.Error(err)
			case err == nil && (len(p.Links) != test.links || p.Truncated != test.truncated):
				t.Errorf("%d links, truncated %v; want %d, %v",
					len(p.Links), p.Truncated, test.links, test.truncated)
			case err == nil && p.Says.State == robotsmw.PagePending:
				t.Error("the directives are pending, although the body was read to its end")
			}
		})
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Read returns no links of a challenge, because these links are not the site's.
func TestReadARefusal(t *testing.T) {
	header := http.Header{"Content-Type": {"text/html"}, "Sg-Captcha": {"challenge"}}
	resp, err := serve(t, header, "<a href=/captcha>x</a>").Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(t.Context(), resp, nil)
	if err != nil || len(p.Links) != 0 || !p.Says.Refusal.Sure {
		t.Errorf("%+v, %v", p, err)
	}
}

// Only a rule of Options.Refusals shows that the body is a block page.
func TestRead_BlockPageByRule(t *testing.T) {
	detector, err := refusal.NewDetector(refusal.Rule{By: "Shield", Kind: refusal.Block, Sure: true, Text: []string{"Access paused"}})
	if err != nil {
		t.Fatal(err)
	}
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "Access paused <a href=/captcha>x</a>")
	}))
	client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: "TestBot/1.0 (+https://example.com/bot)", Base: &web, Refusals: detector, Override: map[string]string{"http://a.example": ""}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(t.Context(), resp, nil)
	if err != nil || len(p.Links) != 0 || !p.Says.Refusal.Sure {
		t.Errorf("%+v, %v", p, err)
	}
}

// A <noscript> is nested deeper than the parser goes, and has links. They are
// missing, so Truncated is true.
func TestNoscriptThatIsNestedTooDeep(t *testing.T) {
	for depth, truncated := range map[int]bool{10: false, 1000: true} {
		html := "<noscript>" + strings.Repeat("<div>", depth) + `<a href="/hidden">x</a></noscript><a href="/seen">y</a>`
		page := parse(t, "https://a.example/", html, robotsmw.Page{})
		if page.Truncated != truncated || len(page.Links) != map[bool]int{false: 2, true: 1}[truncated] {
			t.Errorf("depth %d: truncated %v, %d links", depth, page.Truncated, len(page.Links))
		}
	}
}
