package pagelinks

import (
	"net/url"
	"testing"

	"github.com/goodbots/courtesy/robotsmw"
)

func FuzzFromHTML(f *testing.F) {
	f.Add([]byte(`<base href="//b.example/x/"><a rel="nofollow,ugc" href=" ../y?z#f ">` +
		`<meta http-equiv=refresh content="5; url='z'">`))
	f.Add([]byte(`<noscript><a href=1></noscript><template><a href=2></template>` +
		`<link rel=canonical href="http://[::1]:80/%zz">`))
	u, err := url.Parse("http://a.example/dir/page?q")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		p, err := FromHTML(t.Context(), page, u, robotsmw.Page{}, nil)
		if err != nil {
			return // the page is nested too deeply
		}
		for _, l := range p.Links {
			isHTTP := l.URL.Scheme == "http" || l.URL.Scheme == "https"
			if !isHTTP || l.URL.Host == "" || l.URL.Fragment != "" {
				t.Fatalf("FromHTML returns a link to %q, want an http or https URL without a fragment", l.URL)
			}
		}
		if p.Refresh != nil && p.Refresh.Delay < 0 {
			t.Fatalf("the delay of the refresh is %v, want 0 or more", p.Refresh.Delay)
		}
		if len(p.Queue()) > len(p.Links) {
			t.Fatalf("%d URLs are queued, want at most %d, the number of links", len(p.Queue()), len(p.Links))
		}
	})
}
