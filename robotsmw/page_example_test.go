package robotsmw_test

import (
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func ExamplePageDirectives() {
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Robots-Tag", "noarchive")
		io.WriteString(w, `<html><head><meta name="robots" content="noindex"></head><body>Hello</body></html>`)
	}))
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base: &web})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}

	resp, err := client.Get("http://a.example/")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	page := robotsmw.PageDirectives(resp)
	fmt.Println(page.State, "noarchive", page.Says("noarchive"), "noindex", page.NoIndex())

	io.Copy(io.Discard, resp.Body) // the caller reads the page as usual
	page = robotsmw.PageDirectives(resp)
	fmt.Println(page.State, "noarchive", page.Says("noarchive"), "noindex", page.NoIndex())
	// Output:
	// pending noarchive true noindex false
	// complete noarchive true noindex true
}

// PageDirectives reports a challenge that a server sends instead of the page.
// The crawler does not keep such a response.
func ExamplePageDirectives_refusal() {
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cf-Mitigated", "challenge")
		http.Error(w, "Just a moment...", http.StatusForbidden)
	}))
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base: &web})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Get("http://a.example/")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	if r := robotsmw.PageDirectives(resp).Refusal; r.Sure {
		fmt.Println("not kept:", r)
	}
	// Output:
	// not kept: Cloudflare: challenge (403, cf-mitigated: challenge)
}

// A site has its own bot protection, which responds with status 200. A rule
// recognizes its block page.
func ExampleOptions_refusals() {
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html><title>Access paused</title></html>")
	}))
	refusals, err := refusal.NewDetector(refusal.Rule{
		By:   "a.example",
		Kind: refusal.Block,
		Sure: true,
		Text: []string{"<title>Access paused</title>"},
	})
	if err != nil {
		log.Fatal(err)
	}
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      &web,
		Refusals:  refusals,
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := client.Get("http://a.example/")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body) // a refusal may be identified by the text
	if r := robotsmw.PageDirectives(resp).Refusal; r.Sure {
		fmt.Println("not kept:", r)
	}
	// Output:
	// not kept: a.example: block (200, the page has <title>Access paused</title>)
}
