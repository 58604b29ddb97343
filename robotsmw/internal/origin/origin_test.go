package origin

import (
	"net/url"
	"strings"
	"testing"
)

// Each row of this table, which is from Google's documentation, has a
// robots.txt, URLs to which it applies, and URLs to which it does not apply.
func TestGoogleTableWhereARobotsTxtCounts(t *testing.T) {
	for _, tt := range []struct {
		file   string
		counts []string
		not    []string
	}{
		{"https://example.com/robots.txt",
			[]string{"https://example.com/", "https://example.com/folder/file"},
			[]string{"https://other.example.com/", "http://example.com/", "https://example.com:8181/"}},
		{"https://www.example.com/robots.txt",
			[]string{"https://www.example.com/"},
			[]string{"https://example.com/", "https://shop.www.example.com/", "https://www.shop.example.com/"}},
		{"https://www.exämple.com/robots.txt",
			[]string{"https://www.exämple.com/", "https://www.xn--exmple-cua.com/"},
			[]string{"https://www.example.com/"}},
		{"ftp://example.com/robots.txt",
			[]string{"ftp://example.com/", "ftp://example.com:21/"},
			[]string{"https://example.com/"}},
		{"https://212.96.82.21/robots.txt",
			[]string{"https://212.96.82.21/"},
			[]string{"https://example.com/"}},
		{"https://example.com:443/robots.txt",
			[]string{"https://example.com:443/", "https://example.com/"},
			[]string{"https://example.com:444/"}},
		{"https://example.com:8181/robots.txt",
			[]string{"https://example.com:8181/"},
			[]string{"https://example.com/"}},
	} {
		file := mustOrigin(t, tt.file)
		for _, u := range tt.counts {
			if got := mustOrigin(t, u); got != file {
				t.Errorf("%s has origin %s, so %s (origin %s) would not apply to it, want the same origin",
					u, got, tt.file, file)
			}
		}
		for _, u := range tt.not {
			if got := mustOrigin(t, u); got == file {
				t.Errorf("%s has origin %s, so %s would apply to it, want different origins", u, got, tt.file)
			}
		}
	}
}

func TestOriginIsCanonical(t *testing.T) {
	for _, tt := range []struct{ url, host, want string }{
		{"http://Example.COM/", "", "http://example.com"},
		{"http://example.com./", "", "http://example.com"},
		{"http://example.com.:80/", "", "http://example.com"},
		{"http://example.com:/", "", "http://example.com"},
		{"http://example.com:443/", "", "http://example.com:443"},
		{"https://user:secret@example.com/", "", "https://example.com"},
		{"http://my_host.example/", "", "http://my_host.example"},
		{"http://r3---sn.example/", "", "http://r3---sn.example"},
		{"http://BÜCHER.example/", "", "http://xn--bcher-kva.example"},
		{"http://bücher。example/", "", "http://xn--bcher-kva.example"},
		{"http://ｅｘａｍｐｌｅ.com:8080/", "", "http://example.com:8080"},
		{"http://[2001:DB8::1]/", "", "http://[2001:db8::1]"},
		{"http://[2001:db8::1]:80/", "", "http://[2001:db8::1]"},
		{"http://[2001:db8::1]:8080/", "", "http://[2001:db8::1]:8080"},
		{"http://[0:0:0:0:0:0:0:1]/", "", "http://[::1]"},
		{"http://[::1%25lo]/", "", "http://[::1]"},
		{"http://[fe80::1%25ETH0]/", "", "http://[fe80::1%ETH0]"},
		// the Host header of this origin differs from that of 192.0.2.1
		{
			url:  "http://[::ffff:192.0.2.1]/",
			want: "http://[::ffff:192.0.2.1]",
		},
		{"http://[::FFFF:c000:201]:80/", "", "http://[::ffff:192.0.2.1]"},
		{"http://192.0.2.1:8080/", "", "http://192.0.2.1:8080"},
		{"http://127.1:8080/", "", "http://127.0.0.1:8080"},
		{"http://0X7F.1/", "", "http://127.0.0.1"},
		{"http://127.0.0.256/", "", "http://127.0.0.256"},
		{"http://a\u00ad.example/", "", "http://a.example"},
		{"http://example.com:080/", "", "http://example.com"},
		{"http://example.com:00443/", "", "http://example.com:443"},
		{"https://example.com:0443/", "", "https://example.com"},
		{"http://example.com:0/", "", "http://example.com:0"},
		{"http://127.0.0.1:8080/", "a.example", "http://127.0.0.1:8080 a.example"},
		{"http://127.0.0.1:8080/", "A.Example:80", "http://127.0.0.1:8080 a.example"},
		{"http://example.com/", "EXAMPLE.com:80", "http://example.com"},
		{"http://example.com/", "example.com.", "http://example.com"},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Of(u, tt.host)
		if err != nil || got != tt.want {
			t.Errorf("Of(%s) with the Host %q = %q, %v; want %q", tt.url, tt.host, got, err, tt.want)
		}
	}
}

func TestBadHostIsAnError(t *testing.T) {
	for _, u := range []*url.URL{
		{Scheme: "http"},
		{Scheme: "http", Path: "/relative"},
		{Scheme: "http", Host: "."},
		{Scheme: "http", Host: ":80"},
		{Scheme: "http", Host: "a b.example"},
		{Scheme: "http", Host: "\u200d.example"},
		{Scheme: "http", Host: "::1"},
		{Scheme: "http", Host: "::"},
		{Scheme: "http", Host: "a:80:80"},
		{Scheme: "http", Host: "[::1"},
		{Scheme: "http", Host: "[[a]]"},
		{Scheme: "http", Host: "my_bücher.example"}, // IDNA forbids "_"
	} {
		if got, err := Of(u, ""); err == nil {
			t.Errorf("%v has the origin %q, want an error", u, got)
		}
	}
}

func TestOriginsInOptions(t *testing.T) {
	for _, name := range []string{"example.com", "https://", "https://example.com/path", "https://example.com/?q", "mailto:a@example.com", "https://u@example.com", "%"} {
		if got, err := Parse(name); err == nil || !strings.Contains(err.Error(), "not an origin") {
			t.Errorf(`Parse(%q) = %q, %v, want the error "not an origin"`, name, got, err)
		}
	}
	if got, err := Parse("HTTPS://Example.com:443/"); err != nil || got != "https://example.com" {
		t.Errorf("Parse of an origin in capitals = %q, %v, want %q", got, err, "https://example.com")
	}
}

func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"http://example.com", "https://EXAMPLE.com.:443", "http://[::1]:80", "http://bücher.example", "http://a:b:c", "http://..", "ftp://x:21", "http://[::FFFF:192.0.2.1]:080", "http://[fe80::1%25eth0]", "http://[::1%25x]"} {
		f.Add(s, "")
	}
	f.Add("http://a.example", "[[b]]")
	f.Fuzz(func(t *testing.T, raw, host string) {
		u, err := url.Parse(raw)
		if err != nil || !Applies(u.Scheme) {
			return
		}
		origin, err := Of(u, host)
		if err != nil {
			return
		}
		at, via := RobotsURL(origin)
		again, err := Of(at, via)
		if err != nil || again != origin {
			t.Errorf("%q (Host %q) has the origin %q, whose robots.txt has the origin %q (%v), want the same",
				raw, host, origin, again, err)
		}
	})
}

func mustOrigin(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	origin, err := Of(u, "")
	if err != nil {
		t.Fatal(err)
	}
	return origin
}

// A request with a Host header has another origin, unless the Host is only
// another spelling of the URL's host.
func TestOriginOfAHostHeader_PlainNames(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "a.example", Path: "/"}
	for host, want := range map[string]string{
		"":              "http://a.example",
		"a.example":     "http://a.example",
		"A.Example.:80": "http://a.example",
		"b.example":     "http://a.example b.example",
	} {
		if got, err := Of(u, host); err != nil || got != want {
			t.Errorf("Of with the Host %q = %q, %v; want %q", host, got, err, want)
		}
	}
}
