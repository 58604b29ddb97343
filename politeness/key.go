package politeness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxName and maxLabel are the greatest lengths of a DNS name and of one of its
// labels (RFC 1035 §3.1), in bytes as written.
const (
	maxName  = 253
	maxLabel = 63
	maxHost  = maxName*utf8.UTFMax + 99 // in URL.Host, a host may be in UTF-8 and have brackets and a port like 00080
)

var (
	errNoHost      = errors.New("the URL has no host")
	errHostTooLong = fmt.Errorf("the host's name is longer than a name can be, %d bytes and %d for each label", maxName, maxLabel)
)

// HostKey returns the URL's host in a form that is the same for all its
// spellings.
//
// A name is in lower case and in ASCII (IDNA), without port and final dots. A
// name that IDNA forbids is put in lower case but not converted, because
// net/http dials such a name without converting it.
//
// An IP address is as [netip.Addr] prints it, without brackets, even if it is
// written as 127.1 or 0x7f000001. An IPv4-mapped address becomes the IPv4
// address. A zone remains only with a link-local address, because only there it
// distinguishes two hosts.
//
// Scheme and port do not matter, because all ports of a host usually lead to
// the same machine. Package robotsmw uses this form in origins too, so that
// rules and pace agree about a host.
//
// It is an error if the URL has no host, or if the host is longer than a DNS
// name can be. As written, a host may have 253 characters. In the returned
// form, it may have 253 bytes, and each of its labels 63. The length as written
// is checked first, because converting a name takes time quadratic in its
// length.
func HostKey(_ context.Context, u *url.URL) (string, error) {
	if isPlain(u.Host) {
		return u.Host, nil // most hosts are plain
	}
	if len(u.Host) > maxHost {
		return "", errHostTooLong
	}
	host, err := canonicalHost(u.Hostname())
	if err == nil && host == "" {
		err = errNoHost
	}
	return host, err
}

// DomainKey returns the host's registrable domain: example.co.uk for
// www.example.co.uk. It follows publicsuffix.org. For a host without a
// registrable domain, such as an IP address, it returns what HostKey returns.
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

// IPKey returns a Key function that looks up a host's address in r, so that all
// hosts of one machine share a pace. If r is nil, it uses net.DefaultResolver.
// Of several addresses the lowest counts, so their order does not matter.
// Answers are remembered for five minutes, for up to 100,000 hosts. A host that
// cannot be looked up is its own key, because requests to it will mostly fail
// anyway.
//
// The key is an estimate, because a request is paced before net/http connects:
//
//   - The connection may be to another of the host's addresses. Two hosts that
//     share some addresses, but not the lowest, have different keys. A machine
//     with an IPv4 and an IPv6 address has two keys if some of its hosts have
//     only one of them.
//   - A dialer with its own resolver, and a connection that was made before an
//     address changed, may lead elsewhere.
//   - A request through a proxy has the key of its own host, not of the proxy,
//     and the proxy looks up the host by itself.
//   - Behind one address of a CDN or load balancer there are many machines, and
//     one machine can have many addresses.
//
// Every host keeps its own pace if IPKey is the Key of a Limiter that is the
// Within of another.
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
	host = strings.Clone(host) // it may be a piece of a long URL
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
		c.known = make(map[string]address) // forget all: simple, and rarely needed
	}
	c.known[host] = a
	return a.key, nil
}

// canonicalHost returns the one form of all spellings of a host. No other
// function does this: a package that needs to know a URL's host calls HostKey.
// canonicalHost maps a name with non-ASCII letters by IDNA, as net/http does
// before it dials. A name that IDNA forbids is not mapped. An ASCII name is not
// mapped either, because IDNA forbids some names of real hosts ("foo_bar",
// "r3---sn-x").
func canonicalHost(host string) (string, error) {
	if isPlain(host) {
		return host, nil
	}
	if isTooLong(host) {
		return "", errHostTooLong
	}
	// One step may make another necessary. Without its final dot, a host may be
	// an address. In lower case, a name may be one that IDNA allows.
	for {
		next := nextForm(host)
		if !isName(next) {
			return "", errHostTooLong
		}
		if next == host {
			return host, nil
		}
		host = next
	}
}

// CanonicalURL returns a URL whose host is as [HostKey] names it, if u's host
// has non-ASCII letters. Otherwise it returns u itself. A [Transport] sends the
// result, because the connection pools of net/http convert such a host in two
// ways, and HTTP/2 may then never find the connection that it has just made.
func CanonicalURL(u *url.URL) *url.URL {
	if isASCII(u.Host) {
		return u
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil || !isASCII(host) {
		return u
	}
	sent := *u
	sent.Host = host
	if strings.Contains(host, ":") {
		sent.Host = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		sent.Host += ":" + port
	}
	return &sent
}

// nextForm takes one step from a host's spelling toward its one form. The one
// form itself is returned unchanged.
func nextForm(host string) string {
	if strings.IndexByte(host, ':') >= 0 {
		if addr, err := netip.ParseAddr(host); err == nil {
			return canonicalAddr(host, addr)
		}
	}
	if !isASCII(host) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			host = ascii
		}
	}
	return canonicalIPv4(strings.TrimRight(strings.ToLower(host), "."))
}

// isPlain reports whether a host is surely in its one form already. It may also
// return false for a host in that form.
func isPlain(host string) bool {
	if host == "" || len(host) > maxLabel || host[len(host)-1] == '.' {
		return false
	}
	for i := range len(host) {
		if !plainBytes[host[i]] {
			return false
		}
	}
	if !endsInNumber(host) {
		return true
	}
	_, err := netip.ParseAddr(host) // reads IPv4 addresses only in their one form
	return err == nil
}

// endsInNumber reports whether a host may be an IPv4 address: its last label
// begins with a digit, and its last byte is not above 'f'. All IPv4 addresses
// in lower case are like that.
func endsInNumber(host string) bool {
	if host == "" || host[len(host)-1] > 'f' { // most names, such as those in .com and .org
		return false
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && '0' <= last[0] && last[0] <= '9'
}

// canonicalIPv4 returns an IPv4 address in dotted decimal form, and any other
// host unchanged. It reads what inet_aton reads: one to four numbers, each
// decimal, octal or hexadecimal. The last number fills all remaining bytes. The
// resolvers of most systems read these forms too, and net/http dials what they
// return.
func canonicalIPv4(host string) string {
	if !endsInNumber(host) {
		return host
	}
	var addr [4]byte
	for i, rest := 0, host; ; i++ {
		part, next, more := strings.Cut(rest, ".")
		base := 10
		if digits, ok := strings.CutPrefix(part, "0x"); ok {
			part, base = digits, 16
		} else if len(part) > 1 && part[0] == '0' {
			part, base = part[1:], 8
		}
		bits := 8
		if !more {
			bits = 8 * (4 - i)
		}
		n, err := strconv.ParseUint(part, base, max(bits, 1)) // for ParseUint, 0 bits would mean the size of uint
		if err != nil || i > 3 {
			return host
		}
		if more {
			addr[i], rest = byte(n), next
			continue
		}
		for last := 3; last >= i; last-- {
			addr[last] = byte(n)
			n >>= 8
		}
		return canonicalAddr(host, netip.AddrFrom4(addr))
	}
}

var plainBytes = func() (plain [256]bool) {
	for _, b := range []byte("abcdefghijklmnopqrstuvwxyz0123456789.-_") {
		plain[b] = true
	}
	return plain
}()

// canonicalAddr returns the one form of addr. host is the form in which the URL
// has addr. A zone stays only with a link-local address, where it determines
// the link over which the address is reached. The kernel ignores the zone of
// any other address.
func canonicalAddr(host string, addr netip.Addr) string {
	addr = addr.Unmap()
	if addr.Zone() != "" && !addr.IsLinkLocalUnicast() && !addr.IsLinkLocalMulticast() {
		addr = addr.WithZone("")
	}
	var buf [maxName]byte
	if b := addr.AppendTo(buf[:0]); string(b) != host {
		return string(b)
	}
	return host
}

// isTooLong reports whether a host has more characters than a DNS name can
// have. It is fast even for a very long host.
func isTooLong(host string) bool {
	switch host = strings.TrimSuffix(host, "."); {
	case len(host) <= maxName:
		return false
	case len(host) > maxName*utf8.UTFMax:
		return true
	}
	return utf8.RuneCountInString(host) > maxName
}

// isName reports whether the lengths of a name and its labels are within the
// limits of the DNS.
func isName(host string) bool {
	if len(host) <= maxLabel {
		return true
	}
	for label := range strings.SplitSeq(host, ".") {
		if len(label) > maxLabel {
			return false
		}
	}
	return len(host) <= maxName
}

// abbreviated returns a host or URL, cut to a length that suits an error.
func abbreviated(s string) string {
	if len(s) <= 2*maxName {
		return s
	}
	return strings.ToValidUTF8(s[:2*maxName], "") + "…"
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
