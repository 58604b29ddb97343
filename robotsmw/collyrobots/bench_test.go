package collyrobots_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// BenchmarkCrawl visits pages of a loopback site one after the other, and looks at their links. Quote the ratios.
func BenchmarkCrawl(b *testing.B) {
	page := "<html><title>t</title><body>" + strings.Repeat("<p>Some text of a page. <a href=/elsewhere>link</a>\n", 40)
	var robots strings.Builder
	robots.WriteString("User-agent: *\n")
	for i := range 20 {
		fmt.Fprintf(&robots, "Disallow: /private-%d/\n", i)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, robots.String())
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
	}))
	defer server.Close()

	for _, how := range []struct {
		name string
		add  func(c *colly.Collector, base http.RoundTripper)
	}{
		{"colly/check=off", func(c *colly.Collector, base http.RoundTripper) { c.WithTransport(base) }},
		{"colly/check=on", func(c *colly.Collector, base http.RoundTripper) {
			c.WithTransport(base)
			c.IgnoreRobotsTxt = false
		}},
		{"attached", func(c *colly.Collector, base http.RoundTripper) {
			attach(b, c, robotsmw.Options{UserAgent: agent, Base: base, Limiter: unpaced()})
		}},
	} {
		b.Run(how.name, func(b *testing.B) {
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			c := colly.NewCollector(colly.AllowURLRevisit(), colly.UserAgent(agent))
			how.add(c, base)
			links := 0
			c.OnHTML("a[href]", func(*colly.HTMLElement) { links++ })
			target := server.URL + "/page?q=1"
			if err := c.Visit(target); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := c.Visit(target); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		})
	}
}
