package revisit

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A page links to "/?x Host: b.example" on a host that serves several sites. A
// crawler that requests "/?x" with the Host b.example must not get what the
// first page has left behind: a site could forge another site's directives and
// validators, and so keep it from being crawled.
func TestKeyCannotBeForgedByAQuery(t *testing.T) {
	client := &http.Client{Transport: &Transport{Base: roundTripper(func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: 200, Header: http.Header{"Cache-Control": {"max-age=3600"}},
			Body: io.NopCloser(strings.NewReader("a page")), Request: req,
		}, nil
	})}}
	for _, site := range []struct {
		query, host string
	}{{"x Host: b.example", ""}, {"x", "b.example"}} {
		req, err := http.NewRequest("GET", "http://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.RawQuery = site.query
		req.Host = site.host
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		visit, ok := Of(resp)
		if !ok || !visit.Sent {
			t.Errorf("query %q, Host %q: answered from what another request has left: %+v", site.query, site.host, visit)
		}
	}
}

// Two requests have the same key only if they are for the same page.
func TestKeysAreUnambiguous(t *testing.T) {
	request := func(u url.URL, host string) *http.Request { return &http.Request{URL: &u, Host: host} }
	seen := make(map[string]string)
	for name, req := range map[string]*http.Request{
		"plain":                    request(url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"}, ""),
		"with a Host":              request(url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"}, "b.example"),
		"the old form in a query":  request(url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x Host: b.example"}, ""),
		"the new form in a query":  request(url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "Host: b.example http://a.example/?x"}, ""),
		"a URL in the Host":        request(url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"}, "b.example http://c.example"),
		"a path in the host":       request(url.URL{Scheme: "http", Host: "a.example/?x", Path: "/"}, ""),
		"a host in an opaque part": request(url.URL{Scheme: "http", Host: "a", Opaque: ".example/?x"}, ""),
		"an opaque URL":            request(url.URL{Scheme: "http", Host: "b.example", Opaque: "//a.example/?x"}, ""),
	} {
		key, ok := keyOf(req)
		if !ok {
			continue // it is not remembered
		}
		if other, repeated := seen[key]; repeated {
			t.Errorf("%s and %s have the same key, %q", name, other, key)
		}
		seen[key] = name
	}
	if len(seen) != 4 {
		t.Errorf("%d of the requests are remembered, want 4: %v", len(seen), seen)
	}
}
