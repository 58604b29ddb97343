package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The test replaces http.DefaultTransport and os.Stdout, because the program
// has no options: it is meant to be copied.
func TestCrawl(t *testing.T) {
	var web robotstest.Internet
	web.Handle("https://example.com", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /private",
		"/":           "<a href=/private>no</a> <a href=/about>yes</a>",
		"/about":      "<p>about",
	})
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer func(original *os.File) { os.Stdout = original }(os.Stdout)
	os.Stdout = out
	defer func(original http.RoundTripper) { http.DefaultTransport = original }(http.DefaultTransport)
	http.DefaultTransport = &web

	synctest.Test(t, func(*testing.T) { main() })

	printed, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	const want = `200 https://example.com/
Get "https://example.com/private": robotsmw: disallowed: rule "Disallow: /private", line 2 of robots.txt
200 https://example.com/about
`
	if string(printed) != want {
		t.Errorf("the program printed\n%swant\n%s", printed, want)
	}
	for _, r := range web.Log() {
		if got := r.Header.Get("User-Agent"); got != "ExampleBot/1.0 (+https://example.com/bot)" {
			t.Errorf("the User-Agent of the request for %s is %q, want that of Options", r.URL, got)
		}
	}
}
