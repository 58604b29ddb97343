package collyrobots_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/gocolly/colly/v2"
)

// A crawler may make two requests, and one of its URLs is disallowed. Colly's
// own check of robots.txt refuses that URL before colly counts it, as
// Extension.Visit does. Collector.Visit calls the extension only after colly
// has counted the request and used the count as its ID. The refused request is
// therefore counted, and no two requests have the same ID.
func TestMaxRequests(t *testing.T) {
	urls := []string{"http://shop.example/cart", "http://shop.example/", "http://shop.example/shoes"}
	for _, test := range []struct {
		name  string
		visit func() (visit func(string) error, c *colly.Collector)
		want  []error
		ids   []uint32
	}{
		{"plain colly", func() (func(string) error, *colly.Collector) {
			c := plain(shop(), colly.MaxRequests(2))
			return c.Visit, c
		}, []error{colly.ErrRobotsTxtBlocked, nil, nil}, []uint32{1, 2}},
		{"Extension.Visit", func() (func(string) error, *colly.Collector) {
			c, ext := polite(t, shop(), colly.MaxRequests(2))
			return ext.Visit, c
		}, []error{colly.ErrRobotsTxtBlocked, nil, nil}, []uint32{1, 2}},
		{"Collector.Visit", func() (func(string) error, *colly.Collector) {
			c, _ := polite(t, shop(), colly.MaxRequests(2))
			return c.Visit, c
		}, []error{colly.ErrRobotsTxtBlocked, nil, colly.ErrMaxRequests}, []uint32{1, 2}},
	} {
		visit, c := test.visit()
		var ids []uint32
		c.OnRequest(func(r *colly.Request) { ids = append(ids, r.ID) })
		for i, target := range urls {
			if err := visit(target); !errors.Is(err, test.want[i]) {
				t.Errorf("%s: Visit(%q) = %v, want %v", test.name, target, err, test.want[i])
			}
		}
		if !slices.Equal(ids, test.ids) {
			t.Errorf("%s: the IDs of the requests are %v, want %v", test.name, ids, test.ids)
		}
	}
}
