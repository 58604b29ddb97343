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

func TestStart_HostsByName(t *testing.T) {
	site, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	transport := &http.Transport{DialContext: site.DialContext}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	for _, name := range site.Hosts() {
		resp, err := client.Get("http://" + name + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: status %d, %d bytes, error %v", name, resp.StatusCode, len(body), err)
		}
	}

	_, err = client.Get("http://lighthouse.example/")
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
		t.Errorf("a host that is not there: %v, want a *net.DNSError", err)
	}
}

func TestServeHTTP_AnswersFollowEachOther(t *testing.T) {
	site, err := New("example")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{http.StatusTooManyRequests, http.StatusOK, http.StatusOK} {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest("GET", "http://station.example/departures", nil))
		if rec.Code != want {
			t.Errorf("/departures: status %d, want %d", rec.Code, want)
		}
		if retry := rec.Header().Get("Retry-After"); (retry != "") != (want == http.StatusTooManyRequests) {
			t.Errorf("status %d with Retry-After %q", rec.Code, retry)
		}
	}
}

// Each copy of the demo has its own host names. In each copy, the first request
// for a page gets the page's first answer.
func TestNew_Copies(t *testing.T) {
	one, err := New("example")
	if err != nil {
		t.Fatal(err)
	}
	site, err := New("1.example", "2.example")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(site.Hosts()), 2*len(one.Hosts()); got != want {
		t.Errorf("%d hosts in two copies, want %d", got, want)
	}
	for _, domain := range []string{"1.example", "2.example"} {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest("GET", "http://town."+domain+"/", nil))
		if !strings.Contains(rec.Body.String(), "http://museum."+domain+"/") || strings.Contains(rec.Body.String(), "museum.example") {
			t.Errorf("the links of town.%s:\n%s", domain, rec.Body)
		}
		rec = httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest("GET", "http://station."+domain+"/departures", nil))
		if rec.Code != http.StatusTooManyRequests {
			t.Errorf("the first answer of station.%s: status %d", domain, rec.Code)
		}
	}
}

func TestServeHTTP_Unknown(t *testing.T) {
	site, err := New("example")
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]int{
		"http://museum.example/nothing":      http.StatusNotFound,
		"http://museum.example/hours?late=1": http.StatusNotFound, // the query is part of the target
		"http://elsewhere.example/":          http.StatusMisdirectedRequest,
	} {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest("GET", url, nil))
		if rec.Code != want {
			t.Errorf("%s: status %d, want %d", url, rec.Code, want)
		}
		if want == http.StatusMisdirectedRequest && rec.Body.String() != "no such host\n" {
			t.Errorf("%s: it says %q", url, rec.Body)
		}
	}
}

// A host name that is not in the demo leads to the same error as one that is
// not in the DNS.
func TestDialContext_Unknown(t *testing.T) {
	site, err := New("example")
	if err != nil {
		t.Fatal(err)
	}
	const want = "dial tcp: lookup elsewhere.example: no such host"
	if _, err := site.DialContext(t.Context(), "tcp", "elsewhere.example:80"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestParseHost_Mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"-- / --\n":                "want -- /target STATUS --",
		"-- hours 200 --\n":        "want -- /target STATUS --",
		"-- / 200 --\nno header\n": "is not a header",
	} {
		if _, err := parseHost(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// A header decides the charset and the coding of the body. A line "3 × text"
// becomes three lines.
func TestParseHost_Body(t *testing.T) {
	for _, test := range []struct{ name, header, body, want string }{
		{"as it is", "A: b", "x\ny\n", "x\ny"},
		{"repeated lines", "A: b", "<ul>\n3 × <li>\n</ul>\n", "<ul>\n<li>\n<li>\n<li>\n</ul>"},
		{"no number", "A: b", "a × b\n", "a × b"},
		{"UTF-16", "Content-Type: text/html; charset=utf-16", "é\n", "\xff\xfe\xe9\x00"},
	} {
		h, err := parseHost("-- / 200 --\n" + test.header + "\n\n" + test.body)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := string(h["/"][0].body); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	h, err := parseHost("-- / 200 --\n# Why.\n# Really.\n=> fetched\n=> noindex\nContent-Encoding: gzip\n\nhello\n")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(h["/"][0].body))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(z); err != nil || string(body) != "hello" {
		t.Errorf("gzip: %q, %v", body, err)
	}
}
