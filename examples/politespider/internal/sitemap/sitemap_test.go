package sitemap

import (
	"bytes"
	"compress/gzip"
	"runtime"
	"slices"
	"strings"
	"testing"
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

func TestRead(t *testing.T) {
	two := []string{"http://a.example/1?a=1&b=2", "http://a.example/2"}
	for name, tt := range map[string]struct {
		body           string
		urls, sitemaps []string
	}{
		"pages":                   {sampleSitemap, two, nil},
		"packed":                  {packed(sampleSitemap), two, nil},
		"sitemaps":                {sampleIndex, nil, []string{"http://a.example/s1.xml", "http://a.example/s2.xml.gz"}},
		"lines":                   {"\ufeffhttp://a.example/1\r\n\r\n http://a.example/2", []string{"http://a.example/1", "http://a.example/2"}, nil},
		"a line that never ends":  {"http://a.example/1\n" + strings.Repeat("x", 3*maxLine) + "\nhttp://a.example/2\n", []string{"http://a.example/1", "http://a.example/2"}, nil},
		"the longest line":        {"http://a.example/" + strings.Repeat("x", maxLine-18) + "\n", []string{"http://a.example/" + strings.Repeat("x", maxLine-18)}, nil},
		"byte order mark":         {"\ufeff\n" + sampleSitemap, two, nil},
		"space first":             {strings.Repeat(" ", 1000) + sampleSitemap, two, nil},
		"broken off":              {sampleSitemap[:strings.Index(sampleSitemap, "<![")], two[:1], nil},
		"packed, broken off":      {packed(sampleSitemap)[:40], nil, nil},
		"another encoding":        {strings.Replace(sampleSitemap, "UTF-8", "ISO-8859-1", 1), two, nil},
		"an ampersand of its own": {"<urlset><url><loc>http://a.example/?a&b</loc></url></urlset>", []string{"http://a.example/?a&b"}, nil},
		"a page":                  {"<!doctype html><p>Not found<br>", nil, nil},
		"nothing":                 {"", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			urls, sitemaps := Read([]byte(tt.body))
			if !slices.Equal(urls, tt.urls) || !slices.Equal(sitemaps, tt.sitemaps) {
				t.Errorf("%q and %q, want %q and %q", urls, sitemaps, tt.urls, tt.sitemaps)
			}
		})
	}
}

func TestRead_TooMany(t *testing.T) {
	body := "<urlset>" + strings.Repeat("<url><loc>http://a.example/</loc></url>", MaxURLs+1) + "</urlset>"
	if urls, _ := Read([]byte(body)); len(urls) != MaxURLs {
		t.Errorf("%d URLs, want %d", len(urls), MaxURLs)
	}
}

// A packed sitemap may be a hundred times as long as what was fetched. It is
// not unpacked as a whole.
func TestRead_Memory(t *testing.T) {
	const url = "<url><loc>http://a.example/</loc></url>"
	for name, filler := range map[string]string{
		"comments": "<!-- " + strings.Repeat("x", 1000) + " -->\n",
		"lines":    strings.Repeat(" ", 1000) + "\n",
		"space":    " ",
		"elements": "<urlset>",
	} {
		t.Run(name, func(t *testing.T) {
			text, want := strings.Repeat(filler, 20<<20/len(filler)), 0
			switch name {
			case "comments":
				text, want = "<urlset>"+url+text+url+"</urlset>", 2
			case "space", "elements": // they end the sitemap
				text, want = "<urlset>"+url+text+url+"</urlset>", 1
			}
			body := []byte(packed(text))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			urls, _ := Read(body)
			runtime.ReadMemStats(&after)
			if len(urls) != want {
				t.Errorf("%d URLs, want %d", len(urls), want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
				t.Errorf("%d bytes of memory for %d packed into %d", n, len(text), len(body))
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{sampleSitemap, sampleIndex, packed(sampleIndex), "http://a.example/\n", "<url><loc>x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		urls, sitemaps := Read(body)
		if len(urls)+len(sitemaps) > MaxURLs {
			t.Errorf("%d URLs", len(urls)+len(sitemaps))
		}
		for _, u := range append(urls, sitemaps...) {
			if strings.TrimSpace(u) == "" {
				t.Errorf("%q is no URL", u)
			}
		}
	})
}
