package spider

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// sitemapInternet returns an internet with a site that has sitemaps, also on
// another host.
func sitemapInternet() *robotstest.Internet {
	files := map[string]string{
		"a.example/robots.txt": "Sitemap: http://a.example/index.xml\n" +
			"Sitemap: http://cdn.example/a.txt\n" +
			"Sitemap: http://a.example/secret.xml\n" +
			"User-agent: *\nDisallow: /secret",
		"a.example/index.xml": "<sitemapindex>" +
			"<sitemap><loc>http://a.example/s1.xml</loc></sitemap>" +
			"<sitemap><loc>http://elsewhere.example/s.xml</loc></sitemap>" +
			"</sitemapindex>",
		"a.example/s1.xml": "<urlset>" +
			"<url><loc>http://a.example/1?a=1&amp;b=2</loc></url>" +
			"<url><loc>http://a.example/2</loc></url>" +
			"</urlset>",
		"cdn.example/a.txt": "http://a.example/3\nhttp://a.example/secret\nhttp://elsewhere.example/\n",
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		if text, ok := files[r.Host+r.URL.Path]; ok {
			fmt.Fprint(w, text)
			return
		}
		page200("fine").ServeHTTP(w, r)
	}
	internet := new(robotstest.Internet)
	internet.Handle("a.example", http.HandlerFunc(serve))
	internet.Handle("cdn.example", http.HandlerFunc(serve))
	return internet
}

// With -sitemaps, the spider requests sitemaps and the pages in them, as far as
// robots.txt allows. Without -sitemaps, the spider requests none of these.
func TestCrawl_Sitemaps(t *testing.T) {
	for _, tt := range []struct {
		flag string
		want []string
	}{
		{"-sitemaps=false", []string{"a.example/", "a.example/robots.txt"}},
		{"-sitemaps=true", []string{
			"a.example/",
			"a.example/1?a=1&b=2",
			"a.example/2",
			"a.example/3",
			"a.example/index.xml",
			"a.example/robots.txt",
			"a.example/s1.xml",
			"cdn.example/a.txt",
			"cdn.example/robots.txt",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			internet := sitemapInternet()
			crawlInternet(t, t.Context(), internet, tool.ExitOK, tt.flag, "http://a.example/")
			var got []string
			for _, r := range internet.Log() {
				got = append(got, strings.TrimPrefix(r.URL, "http://"))
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: requests were for %q, want %q", tt.flag, got, tt.want)
			}
		})
	}
}
