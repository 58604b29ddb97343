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

// With -sitemaps, the spider requests sitemaps and the pages in them, as far as
// robots.txt allows. Without -sitemaps, the spider requests none of these.
func TestCrawl_Sitemaps(t *testing.T) {
	for _, sitemaps := range []bool{false, true} {
		t.Run(fmt.Sprint(sitemaps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/robots.txt":
						fmt.Fprint(w, "Sitemap: http://a.example/index.xml\nSitemap: http://cdn.example/a.txt\nSitemap: http://a.example/secret.xml\nUser-agent: *\nDisallow: /secret")
					case "/index.xml":
						fmt.Fprint(w, "<sitemapindex><sitemap><loc>http://a.example/s1.xml</loc></sitemap><sitemap><loc>http://elsewhere.example/s.xml</loc></sitemap></sitemapindex>")
					case "/s1.xml":
						fmt.Fprint(w, "<urlset><url><loc>http://a.example/1?a=1&amp;b=2</loc></url><url><loc>http://a.example/2</loc></url></urlset>")
					default:
						page200("fine").ServeHTTP(w, r)
					}
				}))
				internet.Handle("cdn.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/a.txt" {
						http.NotFound(w, r)
						return
					}
					fmt.Fprint(w, "http://a.example/3\nhttp://a.example/secret\nhttp://elsewhere.example/\n")
				}))
				crawlInternet(t, t.Context(), &internet, tool.ExitOK, fmt.Sprintf("-sitemaps=%t",
					sitemaps), "http://a.example/")
				var got []string
				for _, r := range internet.Log() {
					got = append(got, strings.TrimPrefix(r.URL, "http://"))
				}
				slices.Sort(got)
				want := []string{"a.example/", "a.example/robots.txt"}
				if sitemaps {
					want = []string{
						"a.example/", "a.example/1?a=1&b=2", "a.example/2", "a.example/3", "a.example/index.xml", "a.example/robots.txt", "a.example/s1.xml",
						"cdn.example/a.txt", "cdn.example/robots.txt",
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("asked for %q, want %q", got, want)
				}
			})
		})
	}
}
