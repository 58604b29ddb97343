package robotsmw

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// DialControl returns a function for net.Dialer.Control, which the dialer calls
// before it connects to an address. The function calls f with that address. If
// f returns an error, there is no connection. DialControl is for the dialer of
// your own http.Transport. If Options.Base is nil, set Options.RefuseAddress
// instead.
func DialControl(f func(netip.Addr) error) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("robotsmw: dialing %s, which is not an IP address: %w", address, err)
		}
		return f(ap.Addr().Unmap())
	}
}

// PublicOnly is a function for Options.RefuseAddress. It refuses every address
// that is not on the public internet according to IANA's registries of
// special-purpose addresses (RFC 6890). The refused addresses are loopback,
// private, link-local, reserved, unspecified and multicast addresses, addresses
// that carriers share (RFC 6598), and addresses for documentation or
// benchmarks. PublicOnly does not refuse an address that the registries call
// globally reachable.
//
// Some IPv6 addresses lead to IPv4 addresses: IPv4-mapped, NAT64 (RFC 6052),
// 6to4 (RFC 3056) and Teredo (RFC 4380) addresses. PublicOnly refuses such an
// address if the address leads to a refused IPv4 address. PublicOnly does not
// know a network's own NAT64 prefixes. If your network has any, refuse them
// yourself.
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
