package pagelinks_test

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
)

// If a page has a long base and many short links, its links could take memory
// in proportion to the square of the page's size. A limit prevents this, and
// Truncated reports that the limit was reached.
func TestLongBaseOfManyLinks(t *testing.T) {
	const links = 3000
	base := "http://a.test/" + strings.Repeat("a", 100_000) + "/"
	many := strings.Repeat("<a href=1>", links)
	for _, tt := range []struct {
		name, page, at string
		truncated      bool
	}{
		{"in the page", "<base href='" + base + "'>" + many, "http://a.test/", true},
		{"of the page itself", many, base, true},
		{
			name: "that links do not need",
			page: "<base href='" + base + "'>" + strings.Repeat("<a href=http://b.test/1>", links),
			at:   "http://a.test/",
		},
		{"no longer than most", many, base[:1000] + "/", false},
	} {
		u, err := url.Parse(tt.at)
		if err != nil {
			t.Fatal(err)
		}
		before := testmain.Heap()
		page, err := pagelinks.FromHTML(
			context.Background(),
			[]byte(tt.page),
			u,
			robotsmw.Page{},
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		grown := testmain.Heap() - before
		if page.Truncated != tt.truncated || len(page.Links) < 100 || !tt.truncated && len(page.Links) != links {
			t.Errorf("%s: %d links, Truncated is %v", tt.name, len(page.Links), page.Truncated)
		}
		if grown > 96<<20 {
			t.Errorf("%s: a page of %d bytes takes %d MB", tt.name, len(tt.page), grown>>20)
		}
		runtime.KeepAlive(page)
	}
}

// A space in a link becomes %20, as in browsers. A bare space in the query
// would end the request's target, and servers would answer 400.
func TestSpaceInALink(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "a.test", Path: "/x/"}
	page := []byte("<a href='s p/?q=a b&c= d #e f'>")
	p, err := pagelinks.FromHTML(context.Background(), page, u, robotsmw.Page{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range p.Links {
		if got := l.URL.String(); got != "http://a.test/x/s%20p/?q=a%20b&c=%20d%20" {
			t.Errorf("got the link %q, want %q", got, "http://a.test/x/s%20p/?q=a%20b&c=%20d%20")
		}
	}
	if len(p.Links) != 1 {
		t.Errorf("%d links, want 1", len(p.Links))
	}
}

// The links of a page have fragments of a megabyte, or as much white space. A
// crawler keeps their URLs in its queue, and not these texts with them.
func TestMemoryOfLinksWithFragments(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, format := range map[string]string{
		"fragments":   `<a href="/?page=%d#` + long + `">`,
		"white space": `<a href="http://a.example/?page=%d` + strings.Repeat(" ", 1<<20) + `">`,
	} {
		var queue []*url.URL
		before := testmain.Heap()
		for i := range 10 {
			base := &url.URL{Scheme: "http", Host: "a.example", Path: "/"}
			page, err := pagelinks.FromHTML(
				t.Context(),
				fmt.Appendf(nil, format, i),
				base,
				robotsmw.Page{},
				nil,
			)
			if err != nil {
				t.Fatal(err)
			}
			queue = append(queue, page.Queue()...)
		}
		if grown := testmain.Heap() - before; grown > 2<<20 {
			t.Errorf("%s: %d URLs take %d bytes", name, len(queue), grown)
		}
		if len(queue) != 10 || queue[7].String() != "http://a.example/?page=7" {
			t.Errorf("%s: %v", name, queue)
		}
		runtime.KeepAlive(queue)
	}
}
