package demosite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// startSite returns a client of the demo.
func startSite(t *testing.T) (*Site, *http.Client) {
	t.Helper()
	site, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	transport := &http.Transport{DialContext: site.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return site, &http.Client{Transport: transport}
}

// newSite returns a Site with these domains.
func newSite(t *testing.T, domains ...string) *Site {
	t.Helper()
	site, err := New(domains...)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// get returns the site's response.
func get(site *Site, url string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	site.ServeHTTP(rec, httptest.NewRequest("GET", url, nil))
	return rec
}

// Every host of the demo has a front page.
func TestStart(t *testing.T) {
	site, client := startSite(t)
	for _, name := range site.Hosts() {
		resp, err := client.Get("http://" + name + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("front page of %s: status %d and a body of %d bytes, want 200 and a body", name, resp.StatusCode, len(body))
		}
	}
}

func TestStart_UnknownHost(t *testing.T) {
	_, client := startSite(t)
	_, err := client.Get("http://lighthouse.example/")
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
		t.Errorf("error for an unknown host is %v, want a *net.DNSError with IsNotFound", err)
	}
}

// A target can have several responses, of which the last one is repeated.
func TestServeHTTP_SeveralResponses(t *testing.T) {
	site := newSite(t, "example")
	for i, want := range []int{http.StatusTooManyRequests, http.StatusOK, http.StatusOK} {
		rec := get(site, "http://station.example/departures")
		if rec.Code != want {
			t.Errorf("status of response %d is %d, want %d", i+1, rec.Code, want)
		}
		retryAfter := rec.Header().Get("Retry-After")
		if wantRetryAfter := want == http.StatusTooManyRequests; (retryAfter != "") != wantRetryAfter {
			t.Errorf("response %d has the Retry-After %q, want one: %t", i+1, retryAfter, wantRetryAfter)
		}
	}
}

// Each copy of the demo has its own host names. In each copy, the first request
// for a page gets the page's first response.
func TestNew_Copies(t *testing.T) {
	site := newSite(t, "1.example", "2.example")
	if got, want := len(site.Hosts()), 2*len(newSite(t, "example").Hosts()); got != want {
		t.Errorf("two copies have %d hosts, want %d", got, want)
	}
	for _, domain := range []string{"1.example", "2.example"} {
		body := get(site, "http://town."+domain+"/").Body.String()
		if want := "http://museum." + domain + "/"; !strings.Contains(body, want) {
			t.Errorf("page of town.%s does not link to %s:\n%s", domain, want, body)
		}
		if strings.Contains(body, "museum.example") {
			t.Errorf("page of town.%s links to museum.example:\n%s", domain, body)
		}
		rec := get(site, "http://station."+domain+"/departures")
		if rec.Code != http.StatusTooManyRequests {
			t.Errorf("first response of station.%s has status %d, want %d",
				domain, rec.Code, http.StatusTooManyRequests)
		}
	}
}

func TestServeHTTP_Unknown(t *testing.T) {
	site := newSite(t, "example")
	for _, tt := range []struct {
		url    string
		status int
		body   string
	}{
		{"http://museum.example/nothing", http.StatusNotFound, "404 page not found\n"},
		// The query is part of the target.
		{"http://museum.example/hours?late=1", http.StatusNotFound, "404 page not found\n"},
		{"http://elsewhere.example/", http.StatusMisdirectedRequest, "no such host\n"},
	} {
		rec := get(site, tt.url)
		if body := rec.Body.String(); rec.Code != tt.status || body != tt.body {
			t.Errorf("%s: status %d and body %q, want %d and %q", tt.url, rec.Code, body, tt.status, tt.body)
		}
	}
}

// A host name that is not in the demo leads to the same error as one that is
// not in the DNS.
func TestDialContext_UnknownHost(t *testing.T) {
	_, err := newSite(t, "example").DialContext(t.Context(), "tcp", "elsewhere.example:80")
	const want = "dial tcp: lookup elsewhere.example: no such host"
	if err == nil || err.Error() != want {
		t.Errorf("DialContext returned the error %v, want %q", err, want)
	}
}

func TestParseHost_Invalid(t *testing.T) {
	for text, want := range map[string]string{
		"-- / --\n":                "want -- /target STATUS --",
		"-- hours 200 --\n":        "want -- /target STATUS --",
		"-- / 200 --\nno header\n": "is not a header",
	} {
		if _, err := parseHost(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseHost(%q): error %v, want one that contains %q", text, err, want)
		}
	}
}

// A header determines the charset of the body. A line "3 × text" becomes three
// lines.
func TestParseHost_Body(t *testing.T) {
	for _, tt := range []struct{ name, header, body, want string }{
		{"a plain body", "A: b", "x\ny\n", "x\ny"},
		{"repeated lines", "A: b", "<ul>\n3 × <li>\n</ul>\n", "<ul>\n<li>\n<li>\n<li>\n</ul>"},
		{"a line without a number", "A: b", "a × b\n", "a × b"},
		{"UTF-16", "Content-Type: text/html; charset=utf-16", "é\n", "\xff\xfe\xe9\x00"},
	} {
		h, err := parseHost("-- / 200 --\n" + tt.header + "\n\n" + tt.body)
		if err != nil {
			t.Errorf("%s: parseHost returned the error %v, want none", tt.name, err)
		} else if got := string(h["/"][0].body); got != tt.want {
			t.Errorf("%s: body is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A header determines the coding of the body. Lines with # and => are not part
// of the header.
func TestParseHost_Gzip(t *testing.T) {
	h, err := parseHost("-- / 200 --\n# Why.\n# Really.\n=> fetched\n=> noindex\nContent-Encoding: gzip\n\nhello\n")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(h["/"][0].body))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if string(body) != "hello" {
		t.Errorf("decompressed body is %q, want %q", body, "hello")
	}
}
