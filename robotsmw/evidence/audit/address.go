package audit

import (
	"bytes"
	"net/netip"
	"strings"
)

// maxAddress is the maximum length of an address with a port and a zone, in
// bytes.
const maxAddress = 80

// parseAddress reads an IP address, which may have a port. It returns the same
// string for all forms of an address, without the port and the zone. An IPv4
// address that is mapped to IPv6 is an IPv4 address.
func parseAddress(word []byte) (address string, ok bool) {
	if !mayBeAddress(word) {
		return "", false
	}
	text := string(word)
	ip, err := netip.ParseAddr(text)
	if err == nil && ip.Is4() {
		return text, !ip.IsUnspecified()
	}
	if err != nil {
		var withPort netip.AddrPort
		if withPort, err = netip.ParseAddrPort(text); err == nil {
			ip = withPort.Addr()
		} else if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
			ip, err = netip.ParseAddr(text[1 : len(text)-1])
		}
	}
	ip = ip.Unmap().WithZone("")
	if err != nil || ip.IsUnspecified() {
		return "", false
	}
	return ip.String(), true
}

// mayBeAddress quickly excludes most words that are not addresses. A zone may
// contain any byte, but a comma belongs to a list of addresses.
func mayBeAddress(word []byte) bool {
	if len(word) < 2 || len(word) > maxAddress || !mayBeginAddress(word[0]) {
		return false
	}
	hasSeparator := bytes.IndexByte(word, '.') >= 0 || bytes.IndexByte(word, ':') >= 0
	return hasSeparator && bytes.IndexByte(word, ',') < 0
}

func mayBeginAddress(b byte) bool {
	return isHex(b) || b == ':' || b == '['
}

// isPrivate reports whether an address is not routed on the Internet. Such an
// address may belong to a proxy, and to several machines in different networks.
func isPrivate(address string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	isLocal := ip.IsLoopback() || ip.IsLinkLocalUnicast()
	return isLocal || ip.IsPrivate() || sharedAddresses.Contains(ip)
}

// sharedAddresses are the addresses that are used between a provider and its
// customers (RFC 6598).
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// forwardedFor returns the client in the value of an X-Forwarded-For: the first
// public address or, if there is none, the first address. It returns "" if the
// value does not begin with an address, because the later addresses are those
// of proxies.
func forwardedFor(value string) (client string) {
	if len(value) < 2 {
		return "" // mostly "-"
	}
	for element := range strings.SplitSeq(value, ",") {
		address, ok := parseAddress([]byte(strings.Trim(element, " \"")))
		if !ok && client == "" {
			return ""
		}
		if ok && !isPrivate(address) {
			return address
		}
		if client == "" {
			client = address
		}
	}
	return client
}

// beginsWithAddress reports whether the text begins with an address.
func beginsWithAddress(rest []byte) bool {
	if len(rest) == 0 || rest[0] == '-' {
		return false
	}
	word, _ := cutWord(rest)
	_, ok := parseAddress(bytes.TrimSuffix(word, []byte(",")))
	return ok
}
