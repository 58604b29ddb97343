package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const sampleSitemap = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://a.example/1?a=1&amp;b=2 </loc><lastmod>2026-11-21</lastmod>
    <image:image><image:loc>http://a.example/picture.png</image:loc></image:image></url>
  <url><loc><![CDATA[http://a.example/2]]></loc></url>
</urlset>`

const sampleIndex = `<sitemapindex><sitemap><loc>http://a.example/s1.xml</loc></sitemap><sitemap><loc>http://a.example/s2.xml.gz</loc></sitemap></sitemapindex>`

func packed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func TestReadSitemap(t *testing.T) {
	two := []string{"http://a.example/1?a=1&b=2", "http://a.example/2"}
	for name, tt := range map[string]struct {
		body           string
		urls, sitemaps []string
	}{
		"pages":                   {sampleSitemap, two, nil},
		"packed":                  {packed(sampleSitemap), two, nil},
		"sitemaps":                {sampleIndex, nil, []string{"http://a.example/s1.xml", "http://a.example/s2.xml.gz"}},
		"lines":                   {"\ufeffhttp://a.example/1\r\n\r\n http://a.example/2", []string{"http://a.example/1", "http://a.example/2"}, nil},
		"byte order mark":         {"\ufeff\n" + sampleSitemap, two, nil},
		"broken off":              {sampleSitemap[:strings.Index(sampleSitemap, "<![")], two[:1], nil},
		"packed, broken off":      {packed(sampleSitemap)[:40], nil, nil},
		"another encoding":        {strings.Replace(sampleSitemap, "UTF-8", "ISO-8859-1", 1), two, nil},
		"an ampersand of its own": {"<urlset><url><loc>http://a.example/?a&b</loc></url></urlset>", []string{"http://a.example/?a&b"}, nil},
		"a page":                  {"<!doctype html><p>Not found<br>", nil, nil},
		"nothing":                 {"", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			urls, sitemaps := readSitemap([]byte(tt.body))
			if !slices.Equal(urls, tt.urls) || !slices.Equal(sitemaps, tt.sitemaps) {
				t.Errorf("%q and %q, want %q and %q", urls, sitemaps, tt.urls, tt.sitemaps)
			}
		})
	}
}

func TestReadSitemap_TooMany(t *testing.T) {
	body := "<urlset>" + strings.Repeat("<url><loc>http://a.example/</loc></url>", maxSitemapURLs+1) + "</urlset>"
	if urls, _ := readSitemap([]byte(body)); len(urls) != maxSitemapURLs {
		t.Errorf("%d URLs, want %d", len(urls), maxSitemapURLs)
	}
}

func FuzzReadSitemap(f *testing.F) {
	for _, seed := range []string{sampleSitemap, sampleIndex, packed(sampleIndex), "http://a.example/\n", "<url><loc>x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		urls, sitemaps := readSitemap(body)
		if len(urls)+len(sitemaps) > maxSitemapURLs {
			t.Errorf("%d URLs", len(urls)+len(sitemaps))
		}
		for _, u := range append(urls, sitemaps...) {
			if strings.TrimSpace(u) == "" {
				t.Errorf("%q is no URL", u)
			}
		}
	})
}

// Sitemaps lead to pages that nothing links to, are asked for as robots.txt allows, and only with -sitemaps.
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
						fmt.Fprint(w, strings.Replace(sampleIndex, "http://a.example/s2.xml.gz", "http://elsewhere.example/s.xml", 1))
					case "/s1.xml":
						fmt.Fprint(w, sampleSitemap)
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
				cfg := testConfig(&internet)
				cfg.userAgent, cfg.sitemaps = "ExampleBot/1.0", sitemaps
				if err := cfg.sites([]string{"http://a.example/"}, sameHost); err != nil {
					t.Fatal(err)
				}
				testCrawl(t, t.Context(), cfg, exitOK)
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
