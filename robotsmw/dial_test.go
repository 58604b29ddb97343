package robotsmw

import (
	"net/netip"
	"strings"
	"testing"
)

// Each row has four marks: for the address before the block, for the first and
// the last address of the block, and for the address after the block. "+" means
// public, "-" means refused, and "." means that there is no such address.
func TestPublicOnly_EachBlock(t *testing.T) {
	rows := map[string]string{
		"0.0.0.0/8": ".--+", "0.0.0.0/32": ".---",
		"10.0.0.0/8": "+--+", "100.64.0.0/10": "+--+", "127.0.0.0/8": "+--+",
		"169.254.0.0/16": "+--+", "172.16.0.0/12": "+--+", "192.168.0.0/16": "+--+",
		"192.0.0.0/24": "+--+", "192.0.0.0/29": "+---", "192.0.0.8/32": "---+",
		"192.0.0.9/32": "-+++", "192.0.0.10/32": "+++-", "192.0.0.170/32": "----", "192.0.0.171/32": "----",
		"192.0.2.0/24": "+--+", "198.51.100.0/24": "+--+", "203.0.113.0/24": "+--+",
		"192.31.196.0/24": "++++", "192.52.193.0/24": "++++", "192.175.48.0/24": "++++",
		"192.88.99.0/24": "+--+", "192.88.99.2/32": "----", "198.18.0.0/15": "+--+",
		"0.0.0.0/0": ".--.", "224.0.0.0/4": "+---", "240.0.0.0/4": "---.", "255.255.255.255/32": "---.",

		"::/128": ".---", "::1/128": "----", "::/0": ".--.",
		"::ffff:0.0.0.0/96": "----", // the first and last address lead to 0.0.0.0 and 255.255.255.255
		"64:ff9b::/96":      "----", // the first and last address lead to 0.0.0.0 and 255.255.255.255
		"64:ff9b:1::/48":    "----", "100::/64": "----", "100:0:0:1::/64": "----",
		"2000::/3":      "-++-",
		"2001::/23":     "+--+", // the first address leads to the Teredo server 0.0.0.0
		"2001::/32":     "+---", // the first address leads to Teredo server 0.0.0.0, the last to client 0.0.0.0
		"2001:1::1/128": "-+++", "2001:1::2/128": "++++", "2001:1::3/128": "+++-",
		"2001:2::/48": "----", "2001:3::/32": "-++-", "2001:4:112::/48": "-++-",
		"2001:10::/28": "---+", "2001:20::/28": "-+++", "2001:30::/28": "+++-",
		"2001:db8::/32": "+--+", "2620:4f:8000::/48": "++++", "3fff::/20": "+--+",
		"2002::/16": "+--+", // the first and last address lead to 0.0.0.0 and 255.255.255.255
		"5f00::/16": "----", "fc00::/7": "----", "fe80::/10": "----", "fec0::/10": "----", "ff00::/8": "---.",
	}
	for _, b := range specialBlocks {
		if rows[b.prefix.String()] == "" {
			t.Errorf("the table has no row for the block %s, want one for each block", b.prefix)
		}
	}
	for block, want := range rows {
		p := netip.MustParsePrefix(block)
		if p != p.Masked() {
			t.Errorf("the row %s has bits set beyond its prefix length, want none", p)
		}
		first, last := p.Addr(), lastAddr(p)
		got := ""
		for _, addr := range []netip.Addr{first.Prev(), first, last, last.Next()} {
			switch {
			case !addr.IsValid():
				got += "."
			case PublicOnly(addr) == nil:
				got += "+"
			default:
				got += "-"
			}
		}
		if got != want {
			t.Errorf("%s, from %s to %s: the marks are %s, want %s", block, first, last, got, want)
		}
	}
}

func lastAddr(p netip.Prefix) netip.Addr {
	a := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(a); i++ {
		a[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(a)
	return last
}

// PublicOnly refuses an IPv6 address that leads to a refused IPv4 address.
func TestPublicOnly_AddressesThatLeadToOthers(t *testing.T) {
	tests := []struct {
		name, addr string
		want       string // in the error; "" means that the address is public
	}{
		{"any IPv4 address", "8.8.8.8", ""},
		{"any IPv6 address", "2606:4700:4700::1111", ""},
		{"loopback", "127.0.0.1", "127.0.0.1 is not a public address: loopback, RFC 1122"},
		{"mapped public", "::ffff:8.8.8.8", ""},
		{"mapped private", "::ffff:192.168.1.1", "192.168.1.1 is not a public address: private use, RFC 1918"},
		{"mapped this network", "::ffff:0.1.2.3", "0.1.2.3 is not"},
		{"mapped with a zone", "::ffff:10.0.0.1%eth0", "10.0.0.1 is not"},
		{"NAT64 of a public address", "64:ff9b::8.8.8.8", ""},
		{"NAT64 of a cloud's metadata", "64:ff9b::169.254.169.254",
			"it leads to 169.254.169.254: link local, RFC 3927"},
		{"NAT64 of a private address", "64:ff9b::a00:1", "it leads to 10.0.0.1"},
		{"NAT64 of loopback", "64:ff9b::7f00:1", "it leads to 127.0.0.1"},
		{"NAT64 of a reachable exception", "64:ff9b::192.0.0.9", ""},
		{"NAT64 for local use, of a public address", "64:ff9b:1::8.8.8.8", "NAT64 for local use"},
		{"beside NAT64", "64:ff9b::1:808:808", "not assigned"},
		{"6to4 of a public address", "2002:808:808::1", ""},
		{"6to4 of a private address", "2002:c0a8:101::1", "it leads to 192.168.1.1"},
		{"6to4 of loopback", "2002:7f00:1::", "it leads to 127.0.0.1"},
		{"Teredo of public addresses", "2001:0:4136:e378:8000:63bf:f7f7:f7f7", ""},
		{"Teredo of a private client", "2001:0:4136:e378:8000:63bf:3f57:fefe", "it leads to 192.168.1.1"},
		{"Teredo with a private server", "2001:0:a00:1:8000:63bf:f7f7:f7f7", "it leads to 10.0.0.1"},
		{"IPv4-compatible", "::10.0.0.1", "not assigned"},
		{"unspecified", "::", "unspecified"},
		{"unspecified of IPv4", "0.0.0.0", "this host"},
		{"link-local with a zone", "fe80::1%eth0", "fe80::1 is not"},
		{"unique local with a zone", "fd00::1%1", "unique local"},
		{"multicast with a zone", "ff02::1%eth0", "multicast"},
		{"multicast of global scope", "ff0e::1", "multicast"},
	}
	for _, tt := range tests {
		err := PublicOnly(netip.MustParseAddr(tt.addr))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: PublicOnly(%s) returned error %v, want one that contains %q, or none for \"\"", tt.name, tt.addr, err, tt.want)
		}
	}
	if err := PublicOnly(netip.Addr{}); err == nil {
		t.Error("PublicOnly accepts the zero netip.Addr, want an error")
	}
	// DialControl applies PublicOnly to the address of a connection.
	control := DialControl(PublicOnly)
	for address, public := range map[string]bool{
		"8.8.8.8:443": true, "[64:ff9b::808:808]:443": true, "[::ffff:8.8.8.8]:80": true,
		"198.18.0.1:80": false, "[64:ff9b::a9fe:a9fe]:80": false, "[fe80::1%eth0]:80": false,
		"[::ffff:127.0.0.1]:80": false,
		"/run/some.sock":        false,
	} {
		if err := control("tcp", address, nil); (err == nil) != public {
			t.Errorf("dialing %s: got error %v, want accepted: %t", address, err, public)
		}
	}
}
