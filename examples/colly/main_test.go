package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The program has no options, because it is meant to be copied. So the test
// replaces http.DefaultTransport and os.Stdout.
func TestProgram(t *testing.T) {
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
	stdout, transport := os.Stdout, http.DefaultTransport
	defer func() { os.Stdout, http.DefaultTransport = stdout, transport }()
	os.Stdout, http.DefaultTransport = out, &web

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
		t.Errorf("it printed\n%swant\n%s", printed, want)
	}
	for _, r := range web.Log() {
		if got := r.Header.Get("User-Agent"); got != "ExampleBot/1.0 (+https://example.com/bot)" {
			t.Errorf("%s was asked for as %q", r.URL, got)
		}
	}
}
