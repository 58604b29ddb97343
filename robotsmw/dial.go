package robotsmw

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/goodbots/courtesy/robotsmw/internal/address"
)

// DialControl returns a function for net.Dialer.Control, which the dialer calls
// before it connects to an address. The function calls f with that address. If
// f returns an error, there is no connection, and errors.Is finds both
// ErrAddressRefused and the error of f in the error of the request. DialControl
// is for the dialer of your own http.Transport. If Options.Base is nil, set
// Options.RefuseAddress instead.
func DialControl(f func(netip.Addr) error) func(network, address string, _ syscall.RawConn) error {
	return address.Control("DialControl", f)
}

// notPublicError is the error of PublicOnly.
type notPublicError string

func (e notPublicError) Error() string { return "robotsmw: " + string(e) }

// Is reports whether target is ErrAddressRefused.
func (e notPublicError) Is(target error) bool { return target == ErrAddressRefused }

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
// recognize NAT64 prefixes that a network has chosen for itself. A program in
// such a network must refuse them itself.
//
// errors.Is(err, ErrAddressRefused) is true for an error of PublicOnly.
func PublicOnly(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	b := findBlock(addr)
	if b == nil {
		return notPublicError("the zero netip.Addr is not a public address")
	}
	if !b.public {
		return notPublicError(fmt.Sprintf("%s is not a public address: %s, %s", addr, b.name, b.source))
	}
	if b.embedded == nil {
		return nil
	}
	for _, leadsTo := range b.embedded(addr) {
		if b := findBlock(leadsTo); !b.public {
			return notPublicError(fmt.Sprintf("%s is not a public address: it leads to %s: %s, %s", addr, leadsTo, b.name, b.source))
		}
	}
	return nil
}
