package sitemap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/sitemap"
)

func ExampleRead() {
	const file = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>https://example.com/search?q=a&page=2</loc><lastmod>2026-11-21</lastmod></url>
  <url><loc><![CDATA[https://example.com/about]]></loc></url>
</urlset>`
	for entry, err := range sitemap.Read(strings.NewReader(file)) {
		if err != nil {
			fmt.Println(err) // the entries before the error are valid
			break
		}
		fmt.Println(entry.Loc, entry.LastMod.Format("2006-01-02"))
	}
	// Output:
	// https://example.com/search?q=a&page=2 2026-11-21
	// https://example.com/about 0001-01-01
}

// This crawler of sitemaps obeys robots.txt and the delay of each host.
func ExampleWalk() {
	client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: site})
	if err != nil {
		fmt.Println(err)
		return
	}
	fetch := func(ctx context.Context, loc string) (io.ReadCloser, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, loc, nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			return nil, errors.New(resp.Status)
		}
		return resp.Body, nil
	}
	for entry, err := range sitemap.Walk(context.Background(), fetch, "http://example.com/sitemap.xml") {
		if err != nil {
			fmt.Println("skipped:", entry.Loc)
			continue
		}
		fmt.Println("page:", entry.Loc)
	}
	// Output:
	// skipped: http://example.com/private/old.xml
	// page: http://example.com/1
	// page: http://example.com/2
}

// site is an http.RoundTripper that simulates the internet.
var site = func() *robotstest.Internet {
	web := new(robotstest.Internet)
	web.Handle("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
		case "/sitemap.xml":
			io.WriteString(w,
				"<sitemapindex><sitemap><loc>http://example.com/private/old.xml</loc></sitemap><sitemap><loc>http://example.com/pages.txt</loc></sitemap></sitemapindex>")
		case "/pages.txt":
			io.WriteString(w, "http://example.com/1\nhttp://example.com/2\n")
		default:
			http.NotFound(w, r)
		}
	}))
	return web
}()
