package politeness

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
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
				t.Errorf("%s: %q, %v after %d look-ups; want %q after %d", tt.url, got, err, lookUps, tt.want, tt.lookUps)
			}
		}

		answers["a.example"] = []string{"192.0.2.7"}
		time.Sleep(addressTTL)
		if got, _ := c.key(t.Context(), mustURL(t, "http://a.example/")); got != "192.0.2.7" {
			t.Errorf("after a move: %q", got)
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := c.key(ctx, mustURL(t, "http://later.example/")); !errors.Is(err, context.Canceled) {
			t.Errorf("a look-up that was canceled: %v", err)
		}
		answers["later.example"] = []string{"192.0.2.8"}
		if got, _ := c.key(t.Context(), mustURL(t, "http://later.example/")); got != "192.0.2.8" {
			t.Errorf("a canceled look-up was remembered: %q", got)
		}
		if _, err := c.key(t.Context(), &url.URL{Path: "/"}); err == nil {
			t.Error("a URL without a host has a key")
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
		t.Errorf("%d hosts are remembered", n)
	}
}
