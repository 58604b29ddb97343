package collyrobots_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// BenchmarkCrawl visits pages of a loopback site, one after the other, and looks at their links. Three crawlers take
// turns, so that a busy machine is as busy for each; the last two metrics are the throughput of an attached collector as
// a part of a plain one's, by the medians.
func BenchmarkCrawl(b *testing.B) {
	for _, rules := range []int{12, 69} { // of real robots.txt files, half have fewer than 12 rules, and nine tenths than 69
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) { benchmarkCrawl(b, rules) })
	}
}

func benchmarkCrawl(b *testing.B, rules int) {
	// 30 KB with a hundred links: about the median page of the web.
	page := "<html><title>t</title><body>" +
		strings.Repeat("<p>"+strings.Repeat("Some text of a page. ", 12)+"<a href=/elsewhere>link</a>\n", 100)
	robots := "User-agent: *\n"
	for i := range rules / 3 { // a third of them with wildcards
		robots += fmt.Sprintf("Disallow: /private-%d/\nDisallow: /search/%d\nDisallow: /*?session%d=\n", i, i, i)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, robots)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
	}))
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	crawlers := []struct {
		name string
		add  func(*colly.Collector)
		c    *colly.Collector
		took []time.Duration
	}{
		{name: "unchecked", add: func(c *colly.Collector) { c.WithTransport(base) }},
		{name: "colly's-check", add: func(c *colly.Collector) { c.WithTransport(base); c.IgnoreRobotsTxt = false }},
		{name: "attached", add: func(c *colly.Collector) {
			attach(b, c, robotsmw.Options{UserAgent: agent, Base: base, Limiter: unpaced()})
		}},
	}
	links := 0
	for i := range crawlers {
		c := colly.NewCollector(colly.AllowURLRevisit(), colly.UserAgent(agent))
		crawlers[i].add(c)
		c.OnHTML("a[href]", func(*colly.HTMLElement) { links++ })
		crawlers[i].c = c
	}
	visit := func(c *colly.Collector) time.Duration {
		start := time.Now()
		if err := c.Visit(server.URL + "/catalogue/garden/tools/item-4711.html?colour=green&size=large"); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	for range 100 {
		for _, crawler := range crawlers {
			visit(crawler.c)
		}
	}
	turn := 0
	for b.Loop() {
		crawler := &crawlers[turn%len(crawlers)]
		crawler.took = append(crawler.took, visit(crawler.c))
		turn++
	}
	median := map[string]float64{}
	for _, crawler := range crawlers {
		if len(crawler.took) == 0 {
			return // too short a run
		}
		slices.Sort(crawler.took)
		median[crawler.name] = crawler.took[len(crawler.took)/2].Seconds()
		b.ReportMetric(1/median[crawler.name], crawler.name+"-pages/s")
	}
	b.ReportMetric(median["unchecked"]/median["attached"], "of-unchecked")
	b.ReportMetric(median["colly's-check"]/median["attached"], "of-colly's-check")
}
