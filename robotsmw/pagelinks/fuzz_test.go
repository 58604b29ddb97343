package pagelinks

import (
	"net/url"
	"testing"

	"github.com/goodbots/courtesy/robotsmw"
)

func FuzzFromHTML(f *testing.F) {
	f.Add([]byte(`<base href="//b.example/x/"><a rel="nofollow,ugc" href=" ../y?z#f "><meta http-equiv=refresh content="5; url='z'">`))
	f.Add([]byte(`<noscript><a href=1></noscript><template><a href=2></template><link rel=canonical href="http://[::1]:80/%zz">`))
	u, err := url.Parse("http://a.example/dir/page?q")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		p, err := FromHTML(t.Context(), page, u, robotsmw.Page{}, nil)
		if err != nil {
			return // the page is nested too deep
		}
		for _, l := range p.Links {
			if s := l.URL.Scheme; s != "http" && s != "https" || l.URL.Host == "" || l.URL.Fragment != "" {
				t.Fatalf("a link to %q", l.URL)
			}
		}
		if p.Refresh != nil && p.Refresh.Delay < 0 {
			t.Fatal(p.Refresh.Delay)
		}
		if len(p.Queue()) > len(p.Links) {
			t.Fatal("more is queued than linked")
		}
	})
}
