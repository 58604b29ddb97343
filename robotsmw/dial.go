package robotsmw

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// DialControl makes a net.Dialer.Control of f: each address about to be
// connected to is shown to f, whose error refuses it. Options.RefuseAddress
// uses it; a caller with an http.Transport of their own sets it there.
func DialControl(f func(netip.Addr) error) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("robotsmw: dialing %s, which is no IP address: %w", address, err)
		}
		return f(ap.Addr().Unmap())
	}
}

// PublicOnly is an Options.RefuseAddress that refuses every address which is
// not on the public internet, as IANA's registries of special-purpose
// addresses have it (RFC 6890): loopback, private, link-local, shared by
// carriers (RFC 6598), for documentation or benchmarks, reserved, unspecified
// and multicast ones. What the registries call globally reachable is not
// refused.
//
// An IPv6 address that leads to an IPv4 address is judged as that: IPv4-mapped,
// NAT64 (RFC 6052), 6to4 (RFC 3056) and Teredo (RFC 4380). NAT64 prefixes of a
// network's own are not known to it, so refuse those yourself where there are
// any.
func PublicOnly(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	b := blockOf(addr)
	if b == nil {
		return errors.New("robotsmw: the zero netip.Addr is not a public address")
	}
	if !b.public {
		return fmt.Errorf("robotsmw: %s is not a public address: %s, %s", addr, b.name, b.source)
	}
	if b.of == nil {
		return nil
	}
	for _, leadsTo := range b.of(addr) {
		if b := blockOf(leadsTo); !b.public {
			return fmt.Errorf("robotsmw: %s is not a public address: it leads to %s: %s, %s", addr, leadsTo, b.name, b.source)
		}
	}
	return nil
}
