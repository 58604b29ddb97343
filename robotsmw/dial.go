package robotsmw

import (
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
// not on the public internet: loopback, private, link-local, multicast,
// unspecified, and those reserved for carrier-grade NAT (RFC 6598).
func PublicOnly(addr netip.Addr) error {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || carrierNAT.Contains(addr) {
		return fmt.Errorf("robotsmw: %s is not a public address", addr)
	}
	return nil
}

var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")
