package collyrobots_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/revisit"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestPagesThatCannotBeExamined(t *testing.T) {
	nofollow := "<meta name=robots content=nofollow>"
	for _, c := range []struct {
		name   string
		header map[string]string
		body   string
		state  robotsmw.PageState
		says   bool
	}{
		{name: "HTML", header: map[string]string{"Content-Type": "text/html"}, body: nofollow, state: robotsmw.PageComplete, says: true},
		{name: "XHTML", header: map[string]string{"Content-Type": "Application/XHTML+XML; charset=utf-8"}, body: nofollow, state: robotsmw.PageComplete, says: true},
		{name: "a text", header: map[string]string{"Content-Type": "text/plain"}, body: nofollow, state: robotsmw.PageHeaderOnly},
		{name: "a text with a header", header: map[string]string{"Content-Type": "text/plain", "X-Robots-Tag": "none"}, state: robotsmw.PageHeaderOnly, says: true, body: "x"},
		{name: "no type", header: map[string]string{"Content-Type": ""}, body: "<!doctype html>" + nofollow, state: robotsmw.PageComplete, says: true},
		{name: "a type without its semicolon", header: map[string]string{"Content-Type": "text/html charset=utf-8"}, body: nofollow, state: robotsmw.PageComplete, says: true},
		{name: "brotli", header: map[string]string{"Content-Type": "text/html", "Content-Encoding": "br"}, body: "\x0b\x02\x80", state: robotsmw.PageNotExamined},
		{name: "empty", header: map[string]string{"Content-Type": "text/html"}, state: robotsmw.PageHeaderOnly},
	} {
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobotsAnd(c.header, c.body))
		collector := colly.NewCollector()
		ext := attach(t, collector, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced()})
		seen := false
		collector.OnResponse(func(r *colly.Response) {
			seen = true
			if page := ext.Directives(r); page.State != c.state || page.NoFollow() != c.says {
				t.Errorf("%s: State = %v and NoFollow() = %v, want %v and %v", c.name, page.State, page.NoFollow(), c.state, c.says)
			}
		})
		if err := collector.Visit("http://a.example/"); err != nil || !seen {
			t.Errorf("%s: Visit = %v, and OnResponse was called: %v; want nil and true", c.name, err, seen)
		}
	}
}

// A page has a meta element with noindex and an unusual Content-Type. A crawler
// with an http.Client and one with colly get the same directives.
func TestHTMLIsTheSameForColly(t *testing.T) {
	const noIndex = "<!doctype html><meta name=robots content=noindex>"
	tests := []struct {
		name   string
		types  []string
		body   string
		status int
		state  robotsmw.PageState
	}{
		{"HTML", []string{"text/html; charset=utf-8"}, noIndex, 200, robotsmw.PageComplete},
		{"a type without a slash", []string{"html"}, noIndex, 200, robotsmw.PageComplete},
		{"an empty type", []string{""}, noIndex, 200, robotsmw.PageComplete},
		{"any type", []string{"*/*"}, noIndex, 200, robotsmw.PageComplete},
		{"an unknown type", []string{"unknown/unknown"}, noIndex, 200, robotsmw.PageComplete},
		{"no type", nil, noIndex, 200, robotsmw.PageComplete},
		{"no type, and a body that begins with text", nil, "hello " + noIndex, 200, robotsmw.PageComplete},
		{"two types, the second HTML", []string{"text/plain", "text/html"}, noIndex, 200, robotsmw.PageComplete},
		{"text", []string{"text/plain"}, noIndex, 200, robotsmw.PageHeaderOnly},
		{"XML", []string{"application/xml"}, noIndex, 200, robotsmw.PageHeaderOnly},
		{"a part of a page", []string{"text/html"}, noIndex, 206, robotsmw.PageHeaderOnly},
		{"no body", []string{"text/html"}, "", 204, robotsmw.PageHeaderOnly},
	}
	for _, tt := range tests {
		web := new(robotstest.Internet)
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", http.NotFoundHandler())
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = tt.types
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		web.Handle("a.example", mux)
		want := fmt.Sprint(tt.state, ", noindex ", tt.state == robotsmw.PageComplete)

		client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced()})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		page := robotsmw.PageDirectives(resp)
		if got := fmt.Sprint(page.State, ", noindex ", page.NoIndex()); got != want {
			t.Errorf("%s, with an http.Client: the page is %q, want %q", tt.name, got, want)
		}

		collector := colly.NewCollector()
		collector.ParseHTTPErrorResponse = true // colly counts 204 and 206 as errors
		x := attach(t, collector, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced()})
		got := "no response"
		collector.OnResponse(func(r *colly.Response) {
			page := x.Directives(r)
			got = fmt.Sprint(page.State, ", noindex ", page.NoIndex())
		})
		if err := collector.Visit("http://a.example/"); err != nil {
			t.Errorf("%s: Visit = %v, want nil", tt.name, err)
		}
		if got != want {
			t.Errorf("%s, with colly: the page is %q, want %q", tt.name, got, want)
		}
	}
}

// Without Options.Wrap, only the extension needs the directives of a page.
// Therefore the robots transport does not examine the page.
func TestPageIsExaminedOnce(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("a.example", withRobotsAnd(map[string]string{"Content-Type": "text/html"}, "<meta name=robots content=noindex>"))
	for want, outer := range map[robotsmw.PageState]func(http.RoundTripper) http.RoundTripper{
		robotsmw.PageNotExamined: nil,
		robotsmw.PageComplete: func(robots http.RoundTripper) http.RoundTripper {
			return &revisit.Transport{Base: robots}
		},
	} {
		var page http.Response // the response that the robots transport receives
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := web.RoundTrip(req)
			if req.URL.Path == "/page" {
				page = *resp
				page.Request = req
			}
			return resp, err
		})
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: base, Wrap: outer, Limiter: unpaced()})
		if err := c.Visit("http://a.example/page"); err != nil {
			t.Fatal(err)
		}
		if got := robotsmw.PageDirectives(&page).State; got != want {
			t.Errorf("the State of the robots transport's response = %v, want %v", got, want)
		}
		if got := ext.Counts().NoIndex; got != 1 {
			t.Errorf("with State %v, Counts().NoIndex = %d, want 1", want, got)
		}
	}
}
