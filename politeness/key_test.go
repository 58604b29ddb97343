package politeness

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestIPKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lookUps := 0
		answers := map[string][]string{
			"a.example":    {"192.0.2.2", "192.0.2.1", "2001:db8::1"},
			"b.example":    {"2001:db8::1", "192.0.2.1", "192.0.2.2"}, // has the addresses of a.example, in another order
			"c.example":    {"192.0.2.3"},
			"six.example":  {"2001:db8::2"},
			"none.example": {},
		}
		c := &addressCache{lookUp: func(ctx context.Context, host string) ([]netip.Addr, error) {
			lookUps++
			time.Sleep(10 * time.Millisecond)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			texts, ok := answers[host]
			if !ok {
				return nil, errors.New("no such host")
			}
			var addrs []netip.Addr
			for _, s := range texts {
				addrs = append(addrs, netip.MustParseAddr(s))
			}
			return addrs, nil
		}}
		for _, tt := range []struct {
			url, want string
			lookUps   int
		}{
			{"http://a.example/", "192.0.2.1", 1},
			{"https://A.Example.:8443/x", "192.0.2.1", 1}, // remembered, so it is not looked up again
			{"http://b.example/", "192.0.2.1", 2},
			{"http://c.example/", "192.0.2.3", 3},
			{"http://six.example/", "2001:db8::2", 4},
			{"http://none.example/", "none.example", 5},
			{"http://unknown.example/", "unknown.example", 6},
			{"http://unknown.example/", "unknown.example", 6},
			{"http://192.0.2.9/", "192.0.2.9", 6},
			{"http://[::ffff:192.0.2.9]/", "192.0.2.9", 6}, // an IPv4 address inside an IPv6 address
		} {
			got, err := c.key(t.Context(), mustURL(t, tt.url))
			if got != tt.want || err != nil || lookUps != tt.lookUps {
				t.Errorf("key(%s) = %q, %v after %d look-ups; want %q, nil after %d", tt.url, got, err, lookUps, tt.want, tt.lookUps)
			}
		}

		answers["a.example"] = []string{"192.0.2.7"}
		time.Sleep(addressTTL)
		if got, _ := c.key(t.Context(), mustURL(t, "http://a.example/")); got != "192.0.2.7" {
			t.Errorf("after the address changed: key %q, want %q", got, "192.0.2.7")
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := c.key(ctx, mustURL(t, "http://later.example/")); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled look-up: error %v, want Canceled", err)
		}
		answers["later.example"] = []string{"192.0.2.8"}
		if got, _ := c.key(t.Context(), mustURL(t, "http://later.example/")); got != "192.0.2.8" {
			t.Errorf("after a canceled look-up: key %q, want %q", got, "192.0.2.8")
		}
		if _, err := c.key(t.Context(), &url.URL{Path: "/"}); err == nil {
			t.Error("a URL without a host has a key, want an error")
		}
	})
}

func TestIPKeyRemembersABoundedNumber(t *testing.T) {
	c := &addressCache{lookUp: func(context.Context, string) ([]netip.Addr, error) { return nil, nil }}
	for i := range addressMax + 10 {
		if _, err := c.key(t.Context(), hostURL(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.known); n > addressMax {
		t.Errorf("%d hosts are cached, want at most %d", n, addressMax)
	}
}

func TestKeys(t *testing.T) {
	tests := []struct{ url, host, domain string }{
		{"http://www.example.com/", "www.example.com", "example.com"},
		{"https://WWW.Example.COM:8443/", "www.example.com", "example.com"},
		{"http://www.example.com./", "www.example.com", "example.com"},
		{"http://news.example.co.uk/", "news.example.co.uk", "example.co.uk"},
		{"http://someone.github.io/", "someone.github.io", "someone.github.io"},
		{"http://co.uk/", "co.uk", "co.uk"},
		{"http://localhost:8080/", "localhost", "localhost"},
		{"http://192.0.2.1:80/", "192.0.2.1", "192.0.2.1"},
		{"http://[2001:DB8::1]:80/", "2001:db8::1", "2001:db8::1"},
		{"http://www.Bücher.example/", "www.xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"http://WWW.XN--BCHER-KVA.example/", "www.xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"http://例え。テスト/", "xn--r8jz45g.xn--zckzah", "xn--r8jz45g.xn--zckzah"},
		{"http://bu\u0308cher.example/", "xn--bcher-kva.example", "xn--bcher-kva.example"}, // decomposed (NFD)
		{"http://www.ｅｘａｍｐｌｅ．com/", "www.example.com", "example.com"},                      // full-width letters
		{"http://straße.example。/", "xn--strae-oqa.example", "xn--strae-oqa.example"},
		{"http://My_Host.r3---sn.example/", "my_host.r3---sn.example", "r3---sn.example"}, // IDNA does not map an ASCII name
		{"http://My_Bücher.example/", "my_bücher.example", "my_bücher.example"},           // IDNA forbids this name, so it is dialed without conversion
	}
	for _, tt := range tests {
		u := mustURL(t, tt.url)
		if got, err := HostKey(t.Context(), u); got != tt.host || err != nil {
			t.Errorf("HostKey(%s) = %q, %v; want %q", tt.url, got, err, tt.host)
		}
		if got, err := DomainKey(t.Context(), u); got != tt.domain || err != nil {
			t.Errorf("DomainKey(%s) = %q, %v; want %q", tt.url, got, err, tt.domain)
		}
	}
}

func FuzzHostKey(f *testing.F) {
	f.Add("www.Example.com.")
	f.Add("bücher.example")
	f.Add("\xff。")
	f.Add("::FFFF:192.0.2.1")
	f.Add("fe80::1%eth0")
	f.Add("::0.0.0.0.")
	f.Add("0X7f.00.1.")
	f.Add("\u04c0") // IDNA forbids this capital letter, but allows the small one
	f.Fuzz(func(t *testing.T, host string) {
		key, err := canonicalHost(host)
		if err != nil {
			return
		}
		if len(key) > maxName {
			t.Errorf("%q has the key %q of %d bytes, want at most %d", host, key, len(key), maxName)
		}
		if again, err := canonicalHost(key); again != key || err != nil {
			t.Errorf("%q has the key %q, whose key is %q, %v; want the same key", host, key, again, err)
		}
	})
}

func TestUnusableURLsAndKeys(t *testing.T) {
	l := &Limiter{}
	for _, u := range []*url.URL{nil, {}, {Path: "/a"}, {Scheme: "mailto", Opaque: "a@example.com"}} {
		if _, err := l.Acquire(t.Context(), u); err == nil || !strings.HasPrefix(err.Error(), "politeness: ") {
			t.Errorf("%v: error %v, want one with the prefix %q", u, err, "politeness: ")
		}
	}
	broken := errors.New("no such key")
	l = &Limiter{Key: func(context.Context, *url.URL) (string, error) { return "", broken }}
	if _, err := l.Acquire(t.Context(), mustURL(t, "http://u:secret@example.com/")); !errors.Is(err, broken) || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want one that wraps %q and does not contain the password", err, broken)
	}
	l = &Limiter{Key: func(context.Context, *url.URL) (string, error) { return "", nil }}
	if _, err := l.Acquire(t.Context(), mustURL(t, "http://example.com/")); err == nil {
		t.Error("Acquire with an empty key succeeded, want an error")
	}
}
