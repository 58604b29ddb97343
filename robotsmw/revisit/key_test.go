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

// TestCacheKey_ForgedByQuery checks that the response to "/?x Host: b.example"
// is not used for "/?x" with the Host b.example. Otherwise, a site could
// replace the directives and validators of another site on the same server.
func TestCacheKey_ForgedByQuery(t *testing.T) {
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: 200,
			Header:     http.Header{"Cache-Control": {"max-age=3600"}},
			Body:       io.NopCloser(strings.NewReader("a page")),
			Request:    req,
		}, nil
	})
	client := &http.Client{Transport: &Transport{Base: base}}
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
			t.Errorf("query %q, Host %q: the visit is %+v, want Sent", site.query, site.host, visit)
		}
	}
}

// TestCacheKey_Unambiguous checks that requests for different pages have
// different keys, or none.
func TestCacheKey_Unambiguous(t *testing.T) {
	request := func(u url.URL, host string) *http.Request {
		return &http.Request{URL: &u, Host: host}
	}
	seen := make(map[string]string)
	for name, req := range map[string]*http.Request{
		"a URL": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"},
			"",
		),
		"a URL with another Host": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x"},
			"b.example",
		),
		"a query like a Host": request(
			url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x Host: b.example"},
			"",
		),
		"a query like a key": request(
			url.URL{
				Scheme:   "http",
				Host:     "a.example",
				Path:     "/",
				RawQuery: "Host: b.example http://a.example/?x",
			},
			"",
		),
		"a URL in the Host field": request(
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
			continue // the response is not stored
		}
		if other, repeated := seen[key]; repeated {
			t.Errorf("%s and %s have the same key, %q, want different keys", name, other, key)
		}
		seen[key] = name
	}
	if len(seen) != 4 {
		t.Errorf("%d of the requests have a key, want 4: %v", len(seen), seen)
	}
}

func TestCacheKey(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b string
		host string // of b
		same bool
	}{
		"the case of the host": {"http://Site.example/", "http://site.example/", "", true},
		"the fragment":         {"http://site.example/#a", "http://site.example/#b", "", true},
		"no path":              {"http://site.example", "http://site.example/", "", true},
		"the case of the path": {"http://site.example/A", "http://site.example/a", "", false},
		"the query": {
			a: "http://site.example/?a=1&b=2",
			b: "http://site.example/?b=2&a=1",
		},
		"the scheme": {"http://site.example/", "https://site.example/", "", false},
		"another Host": {
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
		if got := keyA == keyB; got != tt.same {
			t.Errorf("%s: the keys %q and %q are equal: %t, want %t", name, keyA, keyB, got, tt.same)
		}
	}
	long, _ := http.NewRequest("GET", "http://site.example/"+strings.Repeat("a", 9<<10), nil)
	ftp, _ := http.NewRequest("GET", "ftp://site.example/", nil)
	for _, req := range []*http.Request{long, ftp, {}} {
		if key, ok := cacheKey(req); ok {
			t.Errorf("cacheKey of %.60v = %.60q, true, want false", req.URL, key)
		}
	}
}
