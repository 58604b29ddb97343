package origin

import (
	"cmp"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestHost checks that the Host header that is sent is the host of the origin.
// If want is "", the request's own Host is sent.
func TestHost(t *testing.T) {
	for _, tt := range []struct{ url, host, want string }{
		{"http://a.test", "", ""},
		{"http://a.test", "a.test", ""},
		{"http://a.test:8080", "", ""},
		{"http://foo_bar.test", "", ""},
		{"http://[::1]:8080", "", ""},
		{"http://[fe80::1%25eth0]", "", ""},
		{"http://A.test", "", "a.test"},
		{"http://a.test.", "", "a.test"},
		{"http://192.0.2.1:8080", "", ""},
		{"http://127.1", "", "127.0.0.1"},
		{"http://a.test:80", "a.test:80", "a.test"},
		{"http://a.test:080", "", "a.test"},
		{"http://a.test:", "", "a.test"},
		{"https://a.test:080", "", "a.test:80"},
		{"HTTP://a.test:80", "", "a.test"},
		{"http://ａ.test", "ａ.test", "a.test"},
		{"http://a\u00ad.test:8080", "", "a.test:8080"},
		{"http://bücher.test", "", "xn--bcher-kva.test"},
		{"http://[0:0:0:0:0:0:0:1]", "", "[::1]"},
		{"http://[::ffff:c000:201]", "", "[::ffff:192.0.2.1]"},
		{"http://127.0.0.1:8080", "b.test", ""},
		{"http://127.0.0.1:8080", "B.test:80", "b.test"},
		{"http://127.0.0.1:8080", "ｂ.test", "b.test"},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		name, err := Of(u, tt.host)
		if err != nil {
			t.Fatal(err)
		}
		want := cmp.Or(tt.want, tt.host, u.Host)
		if got := Host(name); got != want {
			t.Errorf("Host of %s with the Host %q = %q, want %q", tt.url, tt.host, got, want)
		}
	}
}

func TestCheckTarget(t *testing.T) {
	for _, tt := range []struct {
		name string
		u    url.URL
		host string
		ok   bool
	}{
		{name: "a path", u: url.URL{Path: "/x"}, ok: true},
		{name: "no path", ok: true},
		{name: "a path with two slashes", u: url.URL{Path: "//b.test/x"}, ok: true},
		{name: "a path without a slash", u: url.URL{Path: "x"}, ok: true},
		{name: "an opaque path", u: url.URL{Opaque: "/x"}, ok: true},
		{name: "OPTIONS *", u: url.URL{Opaque: "*"}, ok: true},
		{name: "the own origin", u: url.URL{Opaque: "//a.test/x"}, ok: true},
		{name: "the own origin in full", u: url.URL{Opaque: "http://a.test/x"}, ok: true},
		{name: "the own origin in another spelling", u: url.URL{Opaque: "HTTP://A.test.:80?x"}, ok: true},
		{name: "the own origin in the path", u: url.URL{Path: "http://a.test/x"}, ok: true},
		{name: "the host of the Host header", u: url.URL{Opaque: "//b.test/x"}, host: "b.test", ok: true},
		{name: "another host", u: url.URL{Opaque: "//b.test/x"}},
		{name: "another host in full", u: url.URL{Opaque: "http://b.test/x"}},
		{name: "another host in the path", u: url.URL{Path: "http://b.test/x"}},
		{name: "another host before a query", u: url.URL{Opaque: "//b.test?x"}},
		{name: "another port", u: url.URL{Opaque: "//a.test:8080/x"}},
		{name: "another scheme", u: url.URL{Opaque: "https://a.test/x"}},
		{name: "a user", u: url.URL{Opaque: "//a.test@b.test/x"}},
		{name: "a user on the own host", u: url.URL{Opaque: "//b.test@a.test/x"}},
		{name: "no host", u: url.URL{Opaque: "///x"}},
		{name: "a host for CONNECT", u: url.URL{Opaque: "b.test:443"}},
		{name: "a path without a host", u: url.URL{Opaque: "http:/x"}},
		{
			name: "the URL's host if the Host is another",
			u:    url.URL{Opaque: "//a.test/x"},
			host: "b.test",
		},
		{name: "a target that is too long", u: url.URL{Opaque: "//" + strings.Repeat("ü", 100_000) + "/x"}},
	} {
		tt.u.Scheme = "http"
		tt.u.Host = "a.test"
		err := CheckTarget(&tt.u, tt.host)
		if (err == nil) != tt.ok {
			t.Errorf("CheckTarget of %s: got the error %v, want no error: %t", tt.name, err, tt.ok)
		}
		if err != nil && len(err.Error()) > 2048 {
			t.Errorf("CheckTarget of %s: got an error of %d bytes, want at most 2048", tt.name, len(err.Error()))
		}
	}
}

// TestSentURL_CanonicalHost checks that the host is sent in its canonical form,
// and that the caller's URL does not change.
func TestSentURL_CanonicalHost(t *testing.T) {
	for written, want := range map[string]string{
		"https://ｖictim.example/":         "victim.example",
		"https://BÜCHER.example:8443/a?b": "xn--bcher-kva.example:8443",
		"https://Faß.example./":           "xn--fa-hia.example",
		"https://Plain.example:443/":      "Plain.example:443",
		"https://[2001:db8::1%25ü]/":      "[2001:db8::1]",
	} {
		u, err := url.Parse(written)
		if err != nil {
			t.Fatal(err)
		}
		before := *u
		sent := SentURL(u)
		if sent.Host != want || sent.RequestURI() != u.RequestURI() {
			t.Errorf("SentURL of %s has the host %q and the target %q, want %q and %q",
				written, sent.Host, sent.RequestURI(), want, u.RequestURI())
		}
		if *u != before {
			t.Errorf("SentURL changed its argument %s to %s, want it unchanged", written, u)
		}
	}
}

// TestSentURL checks that a path without a leading slash is sent with one.
// Otherwise a proxy would read the path as a part of the host's name.
func TestSentURL(t *testing.T) {
	for path, want := range map[string]string{
		"/x":              "/x",
		"":                "/",
		"x":               "/x",
		".b.test/x":       "/.b.test/x",
		"@b.test/x":       "/@b.test/x",
		"*":               "*",
		"http://a.test/x": "http://a.test/x",
	} {
		u := &url.URL{Scheme: "http", Host: "a.test", Path: path, RawQuery: "q"}
		before := *u
		if got := SentURL(u).RequestURI(); got != want+"?q" {
			t.Errorf("SentURL of the path %q has the target %q, want %q", path, got, want+"?q")
		}
		if *u != before {
			t.Errorf("SentURL changed its argument with the path %q to %s, want it unchanged", path, u)
		}
	}
	u := &url.URL{Scheme: "http", Host: "a.test", Path: "/x", RawPath: "%2Fx"}
	if got := SentURL(u).RequestURI(); got != "/%2Fx" {
		t.Errorf("SentURL of an escaped slash has the target %q, want %q", got, "/%2Fx")
	}
}

// A host has no origin if it is too long for a DNS name, or if its port is not
// valid. Of returns the error immediately.
func TestHostLongerThanAnyNameHasNoOrigin(t *testing.T) {
	for _, host := range []string{
		strings.Repeat("ü.", 40_000) + "test", strings.Repeat(
			"a",
			4<<20,
		), strings.Repeat("a.", 127) + "a", strings.Repeat("a", 64) + ".test",
		strings.Repeat("ü", 60) + ".test", "a.test:" + strings.Repeat("9", 4<<20), "a.test:65536", "a.test:http", "a.test:-1", "[fe80::1%" + strings.Repeat("z", 300) + "]",
	} {
		start := time.Now()
		for _, where := range []struct{ host, own string }{{host, ""}, {"a.test", host}} {
			name, err := Of(&url.URL{Scheme: "http", Host: where.host}, where.own)
			if err == nil || len(err.Error()) > 2048 {
				t.Errorf("%.100s: got origin %.100s and error %.100v, want an error of at most 2048 bytes", host, name, err)
			}
		}
		if took := time.Since(start); took > 5*time.Second { // it takes some µs; a busy machine may need longer
			t.Errorf("Of the host %.100s took %v, want at most 5s", host, took)
		}
	}
	for host, want := range map[string]string{
		strings.Repeat("a.", 126) + "a":           strings.Repeat("a.", 126) + "a",
		strings.Repeat("a.", 126) + "a.:65535":    strings.Repeat("a.", 126) + "a:65535",
		strings.Repeat("a", 63) + ".test":         strings.Repeat("a", 63) + ".test",
		"a.test:" + strings.Repeat("0", 99) + "1": "a.test:1",
	} {
		if got, err := Of(&url.URL{Scheme: "http", Host: host}, ""); got != "http://"+want || err != nil {
			t.Errorf("Of the host %s = %q, %v, want %q", host, got, err, "http://"+want)
		}
	}
}
