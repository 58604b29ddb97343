package collyrobots_test

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/revisit"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Colly receives an unchanged page as a 304, and Directives returns the stored
// directives.
func TestWrap_Revisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("site.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/robots.txt":
				http.NotFound(w, r)
				return
			case r.URL.Path == "/fresh":
				w.Header().Set("Cache-Control", "max-age=3600")
			case r.Header.Get("If-None-Match") == `"v1"`:
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Etag", `"v1"`)
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<meta name=testbot content='noindex, max-snippet: 5'><a href=/next>next</a>")
		}))
		c := colly.NewCollector(colly.AllowURLRevisit())
		c.ParseHTTPErrorResponse = true
		ext, err := collyrobots.Attach(c, robotsmw.Options{
			UserAgent: "TestBot/1.0 (+https://example.com/bot)",
			Base:      &web,
			Wrap:      func(robots http.RoundTripper) http.RoundTripper { return &revisit.Transport{Base: robots} },
		})
		if err != nil {
			t.Fatal(err)
		}
		var statuses []int
		c.OnResponse(func(r *colly.Response) {
			statuses = append(statuses, r.StatusCode)
			said := ext.Directives(r)
			if n := said.Limit("max-snippet"); !said.NoIndex() || n != "5" {
				t.Errorf("%s, status %d: the directives are %v, want noindex and max-snippet 5", r.Request.URL, r.StatusCode, slices.Collect(said.Rules()))
			}
			if ext.Indexable(r) {
				t.Errorf("%s, status %d: Indexable = true, want false", r.Request.URL, r.StatusCode)
			}
		})
		for range 2 {
			for _, path := range []string{"/page", "/fresh"} {
				if err := c.Visit("http://site.example" + path); err != nil {
					t.Error(err)
				}
			}
		}
		if want := []int{200, 200, 304, 304}; !slices.Equal(statuses, want) {
			t.Errorf("colly received the statuses %d, want %d", statuses, want)
		}
		if n := len(web.Log()); n != 4 { // robots.txt, and /fresh once
			t.Errorf("%d requests were sent, want 4", n)
		}
	})
}
