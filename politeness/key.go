package politeness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

var errNoHost = errors.New("it names no host")

func (l *Limiter) keyOf(ctx context.Context, u *url.URL) (string, error) {
	if u == nil {
		return "", errors.New("politeness: Acquire of a nil URL: give the URL to be requested")
	}
	key, err := l.set.key(ctx, u)
	if err == nil && key == "" {
		err = errors.New("the Limiter's Key is empty for it")
	}
	if err != nil {
		return "", fmt.Errorf("politeness: no pace for %q: %w", u.Redacted(), err)
	}
	return key, nil
}

// HostKey returns the URL's host name in the one form of all its spellings: lower
// case, in ASCII (IDNA), without port, brackets and final dot. A name that IDNA
// forbids is only lower-cased, as net/http does when it dials. Scheme and port do
// not matter, for they are mostly one machine's. Package robotsmw names origins by
// it too, so that rules and pace agree about a host.
func HostKey(_ context.Context, u *url.URL) (string, error) {
	host := canonicalHost(u.Hostname())
	if host == "" {
		return "", errNoHost
	}
	return host, nil
}

// DomainKey is the registrable domain, which is what an owner has registered:
// example.co.uk for www.example.co.uk. It follows publicsuffix.org. A host that
// has none, such as an IP address, is its own.
func DomainKey(ctx context.Context, u *url.URL) (string, error) {
	host, err := HostKey(ctx, u)
	if err != nil {
		return "", err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host, nil
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain, nil
	}
	return host, nil
}

// IPKey is the address of the host's machine, so that the many hosts of one
// machine share a pace. Of several addresses the lowest counts, whatever order
// they come in. Answers are remembered for five minutes, for 100,000 hosts
// at most. A host that cannot be looked up is its own key: it will not be
// reached anyway. nil: net.DefaultResolver.
func IPKey(r *net.Resolver) func(context.Context, *url.URL) (string, error) {
	if r == nil {
		r = net.DefaultResolver
	}
	c := &addressCache{lookUp: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return r.LookupNetIP(ctx, "ip", host)
	}}
	return c.key
}

const (
	addressTTL = 5 * time.Minute
	addressMax = 100_000
)

type addressCache struct {
	lookUp func(ctx context.Context, host string) ([]netip.Addr, error)
	mu     sync.Mutex
	known  map[string]address
}

type address struct {
	key   string
	until time.Time
}

func (c *addressCache) key(ctx context.Context, u *url.URL) (string, error) {
	host, err := HostKey(ctx, u)
	if err != nil {
		return "", err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String(), nil
	}
	now := time.Now()
	c.mu.Lock()
	a, ok := c.known[host]
	c.mu.Unlock()
	if ok && now.Before(a.until) {
		return a.key, nil
	}
	a = address{host, now.Add(addressTTL)}
	addrs, err := c.lookUp(ctx, host)
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err == nil && len(addrs) > 0 {
		a.key = slices.MinFunc(addrs, netip.Addr.Compare).Unmap().String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= addressMax {
		c.known = make(map[string]address) // start again: simpler than to choose, and rare
	}
	c.known[host] = a
	return a.key, nil
}

// canonicalHost gives all spellings of a host one form. It is the only place that
// does: packages that need to know which host a URL names ask HostKey. A name
// beyond ASCII is mapped by IDNA as net/http maps it to dial, and as there, one
// that IDNA forbids is left as it is. An ASCII name is only lower-cased, because
// real hosts contain what IDNA forbids ("foo_bar", "r3---sn-x").
func canonicalHost(host string) string {
	if !isASCII(host) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			host = ascii
		}
	}
	return strings.TrimRight(strings.ToLower(host), ".")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
