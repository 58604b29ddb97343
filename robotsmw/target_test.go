package robotsmw

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestTargetIsWhatIsSent(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, raw := range []string{
		"http://a.example", "http://a.example/", "http://a.example?", "http://a.example?q", "http://a.example/p?",
		"http://a.example/p?q=1&a=2",
		"http://a.example/%7ep%2F?%2f", "http://a.example/p?a?b", "http://a.example//p?q", "http://a.example/p?q#f",
		"http://a.example/" + long + "?" + long,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		var buf [64]byte
		if got := target(buf[:0], u); got != u.RequestURI() {
			t.Errorf("target(%s) = %q, want %q", raw, got, u.RequestURI())
		}
	}
}

func TestShapesOfURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example",
			robots("User-agent: *\nDisallow: /private\nDisallow: //double\nDisallow: /*?x\nDisallow: /q?$\nDisallow: /*%23secret\n"))
		c := newTestTransport(t, &web).Checker()
		for _, tc := range []struct {
			edit func(r *http.Request)
		}{
			{func(r *http.Request) { r.URL.Opaque = "/private/x"; r.URL.Path = "" }},
			{func(r *http.Request) { r.URL.Opaque = "//a.example/private/x"; r.URL.Path = "" }},
			{func(r *http.Request) { r.URL.Scheme = "HTTP"; r.URL.Path = "/private" }},
			{func(r *http.Request) { r.URL.Host = "A.Example.:80"; r.URL.Path = "/private" }},
			{func(r *http.Request) { r.URL.Path = "//double" }},
			{func(r *http.Request) { r.URL.Path = "/q"; r.URL.ForceQuery = true }},
			{func(r *http.Request) { r.URL.Path = "/private"; r.URL.Fragment = "x" }},
			{func(r *http.Request) { r.URL.Path = "private" }},
			{func(r *http.Request) { r.URL.Path = "/"; r.URL.RawQuery = "x=1" }},
			{func(r *http.Request) { r.URL.Path = ""; r.URL.RawQuery = "x=1" }},
			{func(r *http.Request) { r.URL.Path = "/private"; r.Host = "A.EXAMPLE." }},
			{func(r *http.Request) { r.URL.RawQuery = "q=C#secret" }}, // net/http sends the "#" too
			{func(r *http.Request) { r.URL.Opaque = "/q#secret" }},
		} {
			req, _ := http.NewRequest("GET", "http://a.example/", nil)
			tc.edit(req)
			var d Decision
			name, err := appendOrigin(nil, req.URL, req.Host)
			if err == nil {
				_, err = c.decide(t.Context(), name, req.URL, &d, nil)
			}
			if err != nil || d.Allowed {
				t.Errorf("%+v: got %v and error %v; want disallowed", req.URL, d, err)
			}
		}
	})
}
