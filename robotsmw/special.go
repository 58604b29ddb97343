package robotsmw

import "net/netip"

// A block is a range of addresses: one row of an IANA registry.
type block struct {
	prefix netip.Prefix
	public bool // "Globally Reachable" in the registry
	name   string
	source string

	// The IPv4 addresses that an address of the block leads to. PublicOnly
	// judges these too. Nil means that there are none.
	embedded func(netip.Addr) []netip.Addr
}

// specialBlocks has the rows of the IANA IPv4 and IPv6 Special-Purpose Address
// Registries (RFC 6890, RFC 8190). After the rows of each registry come some
// rows from other registries. The longest prefix that contains an address
// decides. If a registry contains neither "true" nor "false" for a block, the
// field public follows the document in the field source.
var specialBlocks = [...]block{
	{prefix("0.0.0.0/8"), false, "this network", "RFC 791 §3.2", nil},
	{prefix("0.0.0.0/32"), false, "this host on this network", "RFC 1122 §3.2.1.3", nil},
	{prefix("10.0.0.0/8"), false, "private use", "RFC 1918", nil},
	{prefix("100.64.0.0/10"), false, "shared address space", "RFC 6598", nil},
	{prefix("127.0.0.0/8"), false, "loopback", "RFC 1122 §3.2.1.3", nil},
	{prefix("169.254.0.0/16"), false, "link local", "RFC 3927", nil},
	{prefix("172.16.0.0/12"), false, "private use", "RFC 1918", nil},
	{prefix("192.0.0.0/24"), false, "IETF protocol assignments", "RFC 6890 §2.1", nil},
	{prefix("192.0.0.0/29"), false, "IPv4 service continuity", "RFC 7335", nil},
	{prefix("192.0.0.8/32"), false, "IPv4 dummy address", "RFC 7600", nil},
	{prefix("192.0.0.9/32"), true, "Port Control Protocol anycast", "RFC 7723", nil},
	{prefix("192.0.0.10/32"), true, "TURN anycast", "RFC 8155", nil},
	{prefix("192.0.0.170/32"), false, "NAT64/DNS64 discovery", "RFC 8880", nil},
	{prefix("192.0.0.171/32"), false, "NAT64/DNS64 discovery", "RFC 8880", nil},
	{prefix("192.0.2.0/24"), false, "documentation", "RFC 5737", nil},
	{prefix("192.31.196.0/24"), true, "AS112-v4", "RFC 7535", nil},
	{prefix("192.52.193.0/24"), true, "AMT", "RFC 7450", nil},
	{prefix("192.88.99.0/24"), false, "6to4 relay anycast, deprecated", "RFC 7526", nil},
	{prefix("192.88.99.2/32"), false, "6a44 relay anycast", "RFC 6751", nil},
	{prefix("192.168.0.0/16"), false, "private use", "RFC 1918", nil},
	{prefix("192.175.48.0/24"), true, "direct delegation AS112 service", "RFC 7534", nil},
	{prefix("198.18.0.0/15"), false, "benchmarking", "RFC 2544", nil},
	{prefix("198.51.100.0/24"), false, "documentation", "RFC 5737", nil},
	{prefix("203.0.113.0/24"), false, "documentation", "RFC 5737", nil},
	{prefix("240.0.0.0/4"), false, "reserved", "RFC 1112 §4", nil},
	{prefix("255.255.255.255/32"), false, "limited broadcast", "RFC 919 §7", nil},
	{prefix("0.0.0.0/0"), true, "IPv4", "RFC 791", nil},
	{prefix("224.0.0.0/4"), false, "multicast", "RFC 5771", nil},

	{prefix("::1/128"), false, "loopback", "RFC 4291", nil},
	{prefix("::/128"), false, "unspecified", "RFC 4291", nil},
	{prefix("::ffff:0:0/96"), false, "IPv4-mapped", "RFC 4291", nil}, // PublicOnly judges the IPv4 address
	{prefix("64:ff9b::/96"), true, "NAT64", "RFC 6052 §3.1", embeddedNAT64},
	{prefix("64:ff9b:1::/48"), false, "NAT64 for local use", "RFC 8215", nil},
	{prefix("100::/64"), false, "discard only", "RFC 6666", nil},
	{prefix("100:0:0:1::/64"), false, "dummy prefix", "RFC 9780", nil},
	{prefix("2001::/23"), false, "IETF protocol assignments", "RFC 2928", nil},
	{prefix("2001::/32"), true, "Teredo", "RFC 4380", embeddedTeredo},
	{prefix("2001:1::1/128"), true, "Port Control Protocol anycast", "RFC 7723", nil},
	{prefix("2001:1::2/128"), true, "TURN anycast", "RFC 8155", nil},
	{prefix("2001:1::3/128"), true, "DNS-SD Service Registration Protocol anycast", "RFC 9665", nil},
	{prefix("2001:2::/48"), false, "benchmarking", "RFC 5180", nil},
	{prefix("2001:3::/32"), true, "AMT", "RFC 7450", nil},
	{prefix("2001:4:112::/48"), true, "AS112-v6", "RFC 7535", nil},
	{prefix("2001:10::/28"), false, "ORCHID, deprecated", "RFC 4843", nil},
	{prefix("2001:20::/28"), true, "ORCHIDv2", "RFC 7343", nil},
	{prefix("2001:30::/28"), true, "drone remote ID", "RFC 9374", nil},
	{prefix("2001:db8::/32"), false, "documentation", "RFC 3849", nil},
	{prefix("2002::/16"), true, "6to4", "RFC 3056", embedded6to4},
	{prefix("2620:4f:8000::/48"), true, "direct delegation AS112 service", "RFC 7534", nil},
	{prefix("3fff::/20"), false, "documentation", "RFC 9637", nil},
	{prefix("5f00::/16"), false, "segment routing", "RFC 9602", nil},
	{prefix("fc00::/7"), false, "unique local", "RFC 4193", nil},
	{prefix("fe80::/10"), false, "link local", "RFC 4291", nil},
	{prefix("::/0"), false, "not assigned", "RFC 4291 §2.4", nil}, // IPv4-compatible addresses are also in this block
	{prefix("2000::/3"), true, "global unicast", "RFC 4291 §2.4", nil},
	{prefix("fec0::/10"), false, "site local, deprecated", "RFC 3879", nil},
	{prefix("ff00::/8"), false, "multicast", "RFC 4291 §2.7", nil},
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// findBlock returns the smallest block that an address is in, or nil for the
// zero netip.Addr. The address must have no zone.
func findBlock(addr netip.Addr) (found *block) {
	for i := range specialBlocks {
		b := &specialBlocks[i]
		if b.prefix.Contains(addr) && (found == nil || b.prefix.Bits() > found.prefix.Bits()) {
			found = b
		}
	}
	return found
}

// embeddedNAT64 returns the IPv4 address at the end of a NAT64 address (RFC
// 6052 §2.2).
func embeddedNAT64(addr netip.Addr) []netip.Addr {
	a := addr.As16()
	return []netip.Addr{netip.AddrFrom4([4]byte(a[12:]))}
}

// embedded6to4 returns the IPv4 address of the router that a 6to4 address leads
// to (RFC 3056 §2).
func embedded6to4(addr netip.Addr) []netip.Addr {
	a := addr.As16()
	return []netip.Addr{netip.AddrFrom4([4]byte(a[2:6]))}
}

// embeddedTeredo returns the IPv4 addresses of the server and of the client in
// a Teredo address. The client's bits are inverted there (RFC 4380 §4).
func embeddedTeredo(addr netip.Addr) []netip.Addr {
	a := addr.As16()
	client := [4]byte(a[12:])
	for i := range client {
		client[i] = ^client[i]
	}
	return []netip.Addr{netip.AddrFrom4([4]byte(a[4:8])), netip.AddrFrom4(client)}
}
