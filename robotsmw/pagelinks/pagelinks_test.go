package pagelinks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// list returns the URLs of links, followed by "(nofollow)" or "(ugc)", and
// separated by blanks.
func list(links []Link) string {
	var items []string
	for _, l := range links {
		item := l.URL.String()
		if l.NoFollow {
			item += "(nofollow)"
		}
		if hasRel(l.Rel, "ugc") {
			item += "(ugc)"
		}
		items = append(items, item)
	}
	return strings.Join(items, " ")
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
		{"a relative URL", `<a href="x?y=1#z">`, "http://a.example/dir/x?y=1"},
		{"an absolute URL", `<a href="https://b.example">`, "https://b.example"},
		{"a URL without a scheme", `<a href="//b.example/x">`, "http://b.example/x"},
		{"white space in a URL", "<a href=' /a\n/b '>", "http://a.example/a/b"},
		{
			name: "several base elements",
			html: `<base target="x"><base href="/other/"><base href="/third/"><a href="x">`,
			want: "http://a.example/other/x",
		},
		{
			name: "a base that is not http",
			html: `<base href="javascript:0"><a href="x">`,
			want: "http://a.example/dir/x",
		},
		{
			name: "other elements",
			html: `<area href=1><iframe src=2></iframe><a href=3>`,
			want: "http://a.example/dir/1 http://a.example/dir/2 http://a.example/dir/3",
		},
		{"a frameset", `<frameset><frame src=1></frameset>`, "http://a.example/dir/1"},
		{
			name: "other schemes",
			html: `<a href="mailto:x@y"><a href="javascript:void(0)"><a href="data:,x"><a href="tel:1">`,
		},
		{
			name: "invalid URLs and a valid one",
			html: `<a href="/50%-off"><a href="http://x:port/"><a href="/a?50%-off">`,
			want: "http://a.example/a?50%-off",
		},
		{"an invalid URL", `<a href="http://[">`, ""},
		{"an element without href", `<a name=x><a>`, ""},
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
		{"a link in a template", `<template><a href=1></a></template><a href=2>`, "http://a.example/dir/2"},
		{"a link in a noscript", `<noscript><a href=1>x</a></noscript>`, "http://a.example/dir/1"},
		{
			name: "a refresh in a noscript in the head",
			html: `<head><noscript><meta http-equiv=refresh content="0; url=1"></noscript></head>`,
			want: "http://a.example/dir/1",
		},
		{"a link in a comment", `<!-- <a href=1> -->`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, "http://a.example/dir/page", test.html, robotsmw.Page{})
			if got := list(p.Links); got != test.want {
				t.Errorf("FromHTML returns the links %s\n                     want %s", got, test.want)
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
		"99999999999999;url=next": "", // checked separately
		"next":                    "",
		"":                        "",
		"0; url=javascript:x":     "",
	} {
		escaped := strings.ReplaceAll(content, `"`, "&quot;")
		html := `<meta http-equiv="Refresh" content="` + escaped + `">`
		p := parse(t, "http://a.example/dir/page", html, robotsmw.Page{})
		if content == "99999999999999;url=next" {
			if p.Refresh == nil || p.Refresh.Delay < 24*time.Hour {
				t.Errorf("content %q: Refresh is %+v, want a delay of a day or more", content, p.Refresh)
			}
			continue
		}
		got := ""
		if p.Refresh != nil {
			got = fmt.Sprint(p.Refresh.Delay, " ", p.Refresh.URL)
		}
		if got != want {
			t.Errorf("content %q: Refresh is %q, want %q", content, got, want)
		}
	}
}

func TestCanonicalAndLicense(t *testing.T) {
	const html = `
		<link rel="stylesheet" href="x.css">
		<link rel="canonical" href="page">
		<link rel="license" type="application/rsl+xml" href="/license.xml">`
	p := parse(t, "http://a.example/dir/page?session=1", html, robotsmw.Page{})
	if got := fmt.Sprint(p.Canonical); got != "http://a.example/dir/page" {
		t.Errorf("Canonical is %s, want http://a.example/dir/page", got)
	}
	if got := fmt.Sprint(p.Licenses); got != "[http://a.example/license.xml]" {
		t.Errorf("Licenses is %s, want [http://a.example/license.xml]", got)
	}
}

// TestQueue_NoFollowPage checks that nofollow in a page also applies to its
// refresh.
func TestQueue_NoFollowPage(t *testing.T) {
	const html = `<meta http-equiv=refresh content="0;url=/x"><a href=/y>`
	directives := robotsmw.Page{Directives: robotsmeta.ParseContent("nofollow")}
	p := parse(t, "http://a.example/", html, directives)
	if len(p.Links) != 2 {
		t.Errorf("FromHTML returns %d links, want 2", len(p.Links))
	}
	if queue := p.Queue(); len(queue) != 0 {
		t.Errorf("Queue() = %v, want no URLs", queue)
	}
}

func TestQueue(t *testing.T) {
	const html = `<a href=/1><a rel=nofollow href=/2><a rel=ugc href=/3>` +
		`<a rel=sponsored href=/4><a href=/1#again><a href=/2>`
	for _, test := range []struct {
		name string
		html string
		want string
	}{
		{"two links to the same URL, one with nofollow", html, "/1 /3 /4 /2"},
		{"a single link with nofollow", `<a rel=nofollow href=/2>`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, "http://a.example/", test.html, robotsmw.Page{})
			var paths []string
			for _, u := range p.Queue() {
				paths = append(paths, u.Path)
			}
			if got := strings.Join(paths, " "); got != test.want {
				t.Errorf("Queue() has the paths %q, want %q", got, test.want)
			}
		})
	}
}

// newWeb returns a network with two sites: one has rules, and one is down.
func newWeb() *robotstest.Internet {
	web := new(robotstest.Internet)
	web.Handle("a.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /private/",
		"/": `<a href="/open">open</a> <a href="/private/x">private</a> ` +
			`<a href="http://down.example/x">down</a>`,
		"/quiet": `<meta name="robots" content="nofollow"><a href="http://other.example/">`,
	})
	web.Handle("down.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	return web
}

func newClient(t testing.TB, web *robotstest.Internet) (*http.Client, *robotsmw.Transport) {
	t.Helper()
	tr, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      web,
		Logger:    slog.New(slog.DiscardHandler),
	})
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
		t.Errorf("Queue() = %v, want only /open", q)
	}
	if d := p.Links[1].Decision; d.RobotsURL == "" || d.Allowed || d.Rule != "/private/" {
		t.Errorf("the Decision on /private/x is %+v, want it disallowed by the rule /private/", d)
	}
	if d := p.Links[2].Decision; d.RobotsURL == "" || d.Allowed || d.Reason != robotsmw.Unreachable {
		t.Errorf("the Decision on down.example is %+v, want it disallowed as unreachable", d)
	}
	if p.Says.State != robotsmw.PageComplete {
		t.Errorf("State is %v, want %v", p.Says.State, robotsmw.PageComplete)
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
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Links) != 1 || p.Links[0].Decision.RobotsURL != "" {
		t.Errorf("Read returns the links %+v, want one without a Decision", p.Links)
	}
	if queue := p.Queue(); len(queue) != 0 {
		t.Errorf("Queue() = %v, want no URLs", queue)
	}
	if n := len(web.Log()); n != 2 {
		t.Errorf("%d requests were sent, want 2, for robots.txt and the page", n)
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
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Read returns the error %v, want %v", err, context.Canceled)
	}
	if p == nil || len(p.Links) != 3 {
		t.Errorf("Read returns %+v, want a Page with 3 links", p)
	}
}

func TestRead_Errors(t *testing.T) {
	_, err := Read(t.Context(), &http.Response{Body: http.NoBody}, nil)
	if err == nil || !strings.Contains(err.Error(), "Response.Request") {
		t.Errorf("Read without a Request returns the error %v, want one that names Response.Request", err)
	}
	body := io.MultiReader(strings.NewReader("<a href=x>"), errReader{})
	broken := &http.Response{
		Request: httptest.NewRequest("GET", "http://a.example/", nil),
		Body:    io.NopCloser(body),
	}
	if _, err := Read(t.Context(), broken, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Read of an incomplete body returns the error %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// serve returns a client of a server that has no robots.txt, and responds to
// all other requests with the given header and page.
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

func TestRead_Bodies(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	const link = "<a href=/x>x</a>"
	// encode returns a page in UTF-16 after the given bytes.
	encode := func(order binary.AppendByteOrder, begin string) string {
		b := []byte(begin)
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
		{name: "a PDF file", contentType: "application/pdf", page: link, links: 0},
		{
			name:        "a PDF file with a Content-Encoding",
			contentType: "application/pdf",
			coding:      "br",
			page:        link,
			links:       0,
		},
		{name: "a Content-Encoding", contentType: "text/html", coding: "br", page: link, links: -1},
		{
			name:        "the Content-Encoding identity",
			contentType: "text/html",
			coding:      "identity",
			page:        link,
			links:       1,
		},
		{
			name:        "a page that exceeds the maximum size",
			contentType: "text/html",
			page:        link + strings.Repeat(" ", maxBytes-len(link)) + "<a href=/y>",
			links:       1,
			truncated:   true,
		},
		{
			name:        "a page of the maximum size",
			contentType: "text/html",
			page:        link + strings.Repeat(" ", maxBytes-len(link)),
			links:       1,
		},
		{
			name:        "a page that exceeds the maximum size by white space",
			contentType: "text/html",
			page:        link + strings.Repeat(" ", 16<<20),
			links:       1,
			truncated:   true,
		},
		{
			name:        "UTF-16 with a byte order mark",
			contentType: "text/html",
			page:        encode(binary.LittleEndian, "\xff\xfe"),
			links:       1,
		},
		{
			name:        "big-endian UTF-16 with a byte order mark",
			contentType: "text/html",
			page:        encode(binary.BigEndian, "\xfe\xff"),
			links:       1,
		},
		{
			name:        "UTF-16 without a byte order mark",
			contentType: "text/html",
			page:        encode(binary.BigEndian, ""),
			links:       1,
		},
		{
			name:        "UTF-16 identified by the charset",
			contentType: "text/html; charset=UTF-16",
			page:        encode(binary.LittleEndian, "x\x00"),
			links:       1,
		},
		{
			name:        "UTF-16 with an odd number of bytes",
			contentType: "text/html; charset=UTF-16BE",
			page:        encode(binary.BigEndian, "\x00x") + "\x00",
			links:       1,
		},
		{
			name:        "a page that is not in the charset UTF-16",
			contentType: "text/html; charset=UTF-16",
			page:        link,
			links:       1,
		},
		{name: "an empty page", contentType: "text/html; charset=UTF-16", page: "", links: 0},
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
			if test.links < 0 {
				if err == nil || !strings.Contains(err.Error(), test.coding) {
					t.Errorf("Read returns the error %v, want one that contains %q", err, test.coding)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Links) != test.links || p.Truncated != test.truncated {
				t.Errorf("Read returns %d links and Truncated %t, want %d and %t",
					len(p.Links), p.Truncated, test.links, test.truncated)
			}
			if p.Says.State == robotsmw.PagePending {
				t.Error("State is PagePending after the body was read, want any other state")
			}
		})
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestRead_Challenge checks that Read returns no links of a challenge, because
// they are not links of the site.
func TestRead_Challenge(t *testing.T) {
	header := http.Header{"Content-Type": {"text/html"}, "Sg-Captcha": {"challenge"}}
	resp, err := serve(t, header, "<a href=/captcha>x</a>").Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(t.Context(), resp, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Links) != 0 || !p.Says.Refusal.Sure {
		t.Errorf("Read returns %d links and the Refusal %+v, want none and a Refusal that is Sure",
			len(p.Links), p.Says.Refusal)
	}
}

// TestRead_BlockPageByRule checks a block page that only a rule of
// Options.Refusals recognizes.
func TestRead_BlockPageByRule(t *testing.T) {
	detector, err := refusal.NewDetector(refusal.Rule{
		By:   "Shield",
		Kind: refusal.Block,
		Sure: true,
		Text: []string{"Access paused"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "Access paused <a href=/captcha>x</a>")
	}))
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "TestBot/1.0 (+https://example.com/bot)",
		Base:      &web,
		Refusals:  detector,
		Override:  map[string]string{"http://a.example": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(t.Context(), resp, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Links) != 0 || !p.Says.Refusal.Sure {
		t.Errorf("Read returns %d links and the Refusal %+v, want none and a Refusal that is Sure",
			len(p.Links), p.Says.Refusal)
	}
}

// TestFromHTML_DeepNoscript checks that Truncated reports missing links, which
// are in a <noscript> that is nested too deeply for the parser.
func TestFromHTML_DeepNoscript(t *testing.T) {
	for _, tt := range []struct {
		depth     int
		truncated bool
		links     int
	}{
		{10, false, 2},
		{1000, true, 1},
	} {
		html := "<noscript>" + strings.Repeat("<div>", tt.depth) + `<a href="/inside">x</a></noscript>` +
			`<a href="/outside">y</a>`
		page := parse(t, "https://a.example/", html, robotsmw.Page{})
		if page.Truncated != tt.truncated || len(page.Links) != tt.links {
			t.Errorf("depth %d: FromHTML returns %d links and Truncated %t, want %d and %t",
				tt.depth, len(page.Links), page.Truncated, tt.links, tt.truncated)
		}
	}
}
