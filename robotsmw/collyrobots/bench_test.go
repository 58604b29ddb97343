package collyrobots_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// BenchmarkCrawl visits pages of sites on loopback, one at a time or 20 at
// once. It compares three crawlers: one without a robots.txt check, one with
// colly's own check, and one with the extension. They run alternately in random
// order, so that other load and garbage collection affect all of them equally.
//
// The metric "of-unchecked" is the median throughput of the crawler with the
// extension, divided by that of the crawler without a check. For the metric
// "of-colly's-check", the divisor is the median throughput of the crawler with
// colly's own check.
//
// Colly's own check takes longer if a site has more rules. Half of the real
// robots.txt files have fewer than 12 rules, and nine tenths have fewer than
// 69. The benchmark rules=real crawls 100 sites, each with a real file.
func BenchmarkCrawl(b *testing.B) {
	for _, rules := range []int{12, 69} {
		for _, atOnce := range []int{1, 20} {
			b.Run(fmt.Sprintf("rules=%d/at-once=%d", rules, atOnce), func(b *testing.B) {
				benchmarkCrawl(b, atOnce, rulesLike(rules))
			})
		}
	}
	b.Run("rules=real/at-once=1", func(b *testing.B) { benchmarkCrawl(b, 1, realFiles(b, 100)...) })
}

// rulesLike returns a robots.txt with n rules. A third of them have wildcards.
func rulesLike(rules int) string {
	robots := "User-agent: *\n"
	for i := range rules / 3 {
		robots += fmt.Sprintf("Disallow: /private-%d/\nDisallow: /search/%d\nDisallow: /*?session%d=\n", i, i, i)
	}
	return robots
}

// realFiles returns n robots.txt files from the corpus in COURTESY_SHARED. It
// skips files with a Crawl-delay, and chooses at equal intervals from all
// others.
func realFiles(b *testing.B, n int) (files []string) {
	shared := os.Getenv("COURTESY_SHARED")
	if shared == "" {
		b.Skip("COURTESY_SHARED is not set: the corpus of real robots.txt files is not available")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join("..", "..", shared) // COURTESY_SHARED is relative to the module's root
	}
	f, err := os.Open(filepath.Join(shared, "corpus", "corpus.tar.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		if !strings.HasPrefix(strings.TrimPrefix(h.Name, "./"), "robots/") || h.Typeflag != tar.TypeReg {
			continue
		}
		body, err := io.ReadAll(r)
		if err != nil {
			b.Fatal(err)
		}
		if !strings.Contains(strings.ToLower(string(body)), "crawl-delay") { // the attached crawler would obey a Crawl-delay and be slow
			all = append(all, string(body))
		}
	}
	for i := range n {
		files = append(files, all[i*len(all)/n])
	}
	return files
}

const crawledPage = "/catalogue/garden/tools/item-4711.html?colour=green&size=large"

// benchmarkCrawl crawls one site for each of the given robots.txt files.
func benchmarkCrawl(b *testing.B, atOnce int, robots ...string) {
	// About 30 KB with 100 links, like the median page of the web.
	page := "<html><title>t</title><body>" +
		strings.Repeat("<p>"+strings.Repeat("Some text of a page. ", 12)+"<a href=/elsewhere>link</a>\n", 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			var site int
			fmt.Sscanf(r.Host, "site-%d.example", &site)
			io.WriteString(w, robots[site])
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
	}))
	defer server.Close()
	base := &http.Transport{MaxIdleConnsPerHost: atOnce, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
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
	var links atomic.Int64
	for i := range crawlers {
		c := colly.NewCollector(colly.AllowURLRevisit(), colly.UserAgent(agent))
		crawlers[i].add(c)
		c.OnHTML("a[href]", func(*colly.HTMLElement) { links.Add(1) })
		crawlers[i].c = c
	}
	visit := func(c *colly.Collector, site int) error {
		return c.Visit(fmt.Sprintf("http://site-%d.example%s", site, crawledPage))
	}
	var sites []int // sites where all three crawlers may fetch the page
	for site := range robots {
		var errs [3]error
		for range 100 / len(robots) {
			for i := range crawlers {
				errs[i] = visit(crawlers[i].c, site)
			}
		}
		if errs == [3]error{} {
			sites = append(sites, site)
		}
	}
	if len(sites) < len(robots)/2 {
		b.Fatalf("all crawlers could fetch the page on %d of %d sites, want at least half of them", len(sites), len(robots))
	}
	for i := range crawlers {
		crawlers[i].c.Async = atOnce > 1
	}
	random := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		crawler, site := &crawlers[random.IntN(len(crawlers))], sites[random.IntN(len(sites))]
		start := time.Now()
		for range atOnce {
			if err := visit(crawler.c, site); err != nil {
				b.Fatal(err)
			}
		}
		crawler.c.Wait()
		crawler.took = append(crawler.took, time.Since(start)/time.Duration(atOnce))
	}
	median := map[string]float64{}
	for _, crawler := range crawlers {
		if len(crawler.took) == 0 {
			return // the run was too short
		}
		slices.Sort(crawler.took)
		median[crawler.name] = crawler.took[len(crawler.took)/2].Seconds()
		b.ReportMetric(1/median[crawler.name], crawler.name+"-pages/s")
	}
	b.ReportMetric(median["unchecked"]/median["attached"], "of-unchecked")
	b.ReportMetric(median["colly's-check"]/median["attached"], "of-colly's-check")
}
