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
			StatusCode: 200,
			Header:     http.Header{"Cache-Control": {"max-age=3600"}},
			Body:       io.NopCloser(strings.NewReader("a page")),
			Request:    req,
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
			t.Errorf("query %q, Host %q: answered from what another request has left: %+v",
				site.query, site.host, visit)
		}
	}
}

// Two requests have the same key only if they are for the same page.
func TestKeysAreUnambiguous(t *testing.T) {
	request := func(u url.URL, host string) *http.Request { return &http.Request{URL: &u, Host: host} }
	seen := make(map[string]string)
	for name, req := range map[string]*http.Request{
		"plain": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"},
			"",
		),
		"with a Host": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"},
			"b.example",
		),
		"the old form in a query": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x Host: b.example"},
			"",
		),
		"the new form in a query": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "Host: b.example http://a.example/?x"},
			"",
		),
		"a URL in the Host": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"},
			"b.example http://c.example",
		),
		"a path in the host": request(
			url.URL{Scheme: "http", Host: "a.example/?x", Path: "/"},
			"",
		),
		"a host in an opaque part": request(
			url.URL{Scheme: "http", Host: "a", Opaque: ".example/?x"},
			"",
		),
		"an opaque URL": request(
			url.URL{Scheme: "http", Host: "b.example", Opaque: "//a.example/?x"},
			"",
		),
	} {
		key, ok := cacheKey(req)
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

func TestKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b string
		host string // of b
		same bool
	}{
		"letter case of the host": {"http://Site.example/", "http://site.example/", "", true},
		"the fragment":            {"http://site.example/#a", "http://site.example/#b", "", true},
		"no path":                 {"http://site.example", "http://site.example/", "", true},
		"letter case of the path": {"http://site.example/A", "http://site.example/a", "", false},
		"the query": {
			a: "http://site.example/?a=1&b=2",
			b: "http://site.example/?b=2&a=1",
		},
		"the scheme": {"http://site.example/", "https://site.example/", "", false},
		"a Host of its own": {
			a:    "http://site.example/",
			b:    "http://site.example/",
			host: "other.example",
		},
	} {
		a, _ := http.NewRequest("GET", tt.a, nil)
		b, _ := http.NewRequest("GET", tt.b, nil)
		if tt.host != "" {
			b.Host = tt.host
		}
		keyA, _ := cacheKey(a)
		keyB, _ := cacheKey(b)
		if tt.same != (keyA == keyB) {
			t.Errorf("%s: %q and %q", name, keyA, keyB)
		}
	}
	long, _ := http.NewRequest("GET", "http://site.example/"+strings.Repeat("a", 9<<10), nil)
	ftp, _ := http.NewRequest("GET", "ftp://site.example/", nil)
	for _, req := range []*http.Request{long, ftp, {}} {
		if _, ok := cacheKey(req); ok {
			t.Errorf("%.60v is remembered", req.URL)
		}
	}
}
