package pagelinks_test

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
)

// TestFromHTML_LongBase checks pages with a long base and many short links. The
// memory for the links would be quadratic in the size of such a page, but is
// limited, and Truncated reports that links may be missing.
func TestFromHTML_LongBase(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	const links = 3000
	base := "http://a.test/" + strings.Repeat("a", 100_000) + "/"
	manyLinks := strings.Repeat("<a href=1>", links)
	for _, tt := range []struct {
		name      string
		page      string
		pageURL   string
		truncated bool
	}{
		{"a long base element", "<base href='" + base + "'>" + manyLinks, "http://a.test/", true},
		{"a page with a long URL", manyLinks, base, true},
		{
			name:    "a long base element and absolute links",
			page:    "<base href='" + base + "'>" + strings.Repeat("<a href=http://b.test/1>", links),
			pageURL: "http://a.test/",
		},
		{"a page with a URL of usual length", manyLinks, base[:1000] + "/", false},
	} {
		u, err := url.Parse(tt.pageURL)
		if err != nil {
			t.Fatal(err)
		}
		before := testmain.Heap()
		page, err := pagelinks.FromHTML(t.Context(), []byte(tt.page), u, robotsmw.Page{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		grown := testmain.Heap() - before
		if page.Truncated != tt.truncated {
			t.Errorf("%s: Truncated is %t, want %t", tt.name, page.Truncated, tt.truncated)
		}
		minLinks := links
		if tt.truncated {
			minLinks = 100
		}
		if len(page.Links) < minLinks {
			t.Errorf("%s: FromHTML returns %d links, want at least %d", tt.name, len(page.Links), minLinks)
		}
		if grown > 96<<20 {
			t.Errorf("%s: a page of %d bytes takes %d MiB, want at most 96", tt.name, len(tt.page), grown>>20)
		}
		runtime.KeepAlive(page)
	}
}

// TestFromHTML_Spaces checks that a space in a URL becomes %20, as in browsers.
// Otherwise, a space in the query would end the target in the request line, and
// servers would respond with status 400.
func TestFromHTML_Spaces(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "a.test", Path: "/x/"}
	page := []byte("<a href='s p/?q=a b&c= d #e f'>")
	p, err := pagelinks.FromHTML(t.Context(), page, u, robotsmw.Page{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Links) != 1 {
		t.Fatalf("FromHTML returns %d links, want 1", len(p.Links))
	}
	const want = "http://a.test/x/s%20p/?q=a%20b&c=%20d%20"
	if got := p.Links[0].URL.String(); got != want {
		t.Errorf("FromHTML returns the link %q, want %q", got, want)
	}
}

// TestQueue_Memory checks that the URLs of a queue do not retain the text of
// the page, if links have fragments or white space of a megabyte.
func TestQueue_Memory(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, format := range map[string]string{
		"fragments":   `<a href="/?page=%d#` + long + `">`,
		"white space": `<a href="http://a.example/?page=%d` + strings.Repeat(" ", 1<<20) + `">`,
	} {
		var queue []*url.URL
		before := testmain.Heap()
		for i := range 10 {
			base := &url.URL{Scheme: "http", Host: "a.example", Path: "/"}
			html := fmt.Appendf(nil, format, i)
			page, err := pagelinks.FromHTML(t.Context(), html, base, robotsmw.Page{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			queue = append(queue, page.Queue()...)
		}
		if grown := testmain.Heap() - before; grown > 2<<20 {
			t.Errorf("%s: %d URLs take %d bytes, want at most 2 MiB", name, len(queue), grown)
		}
		if len(queue) != 10 || queue[7].String() != "http://a.example/?page=7" {
			t.Errorf("%s: the queue is %v, want 10 URLs", name, queue)
		}
		runtime.KeepAlive(queue)
	}
}
