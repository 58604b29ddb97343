package collyrobots_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A page says noindex in a meta, and its Content-Type is unusual. A crawler
// with an http.Client and one with colly get the same answer: a page that one
// of them must not keep is not kept by the other.
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
			t.Errorf("%s, http.Client: %s, want %s", tt.name, got, want)
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
			t.Errorf("%s: %v", tt.name, err)
		}
		if got != want {
			t.Errorf("%s, colly: %s, want %s", tt.name, got, want)
		}
	}
}
