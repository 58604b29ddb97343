package audit

import (
	"bytes"
	"net/netip"
	"strings"
)

// longestAddress is how many bytes an address with a port and a zone may have.
const longestAddress = 80

// parseAddress reads an IP address, which may have a port. One address has one
// form: an IPv4 address that is mapped to IPv6 is an IPv4 address.
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

// mayBeAddress is a quick test, which most words do not pass. A zone may have
// any byte, but a comma belongs to a list of addresses.
func mayBeAddress(word []byte) bool {
	if len(word) < 2 || len(word) > longestAddress || !mayBeginAddress(word[0]) {
		return false
	}
	hasSeparator := bytes.IndexByte(word, '.') >= 0 || bytes.IndexByte(word, ':') >= 0
	return hasSeparator && bytes.IndexByte(word, ',') < 0
}

func mayBeginAddress(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f' || b == ':' || b == '['
}

// isPrivate reports whether an address is one that the Internet does not route:
// it may be a proxy's, and two machines of different networks may have it.
func isPrivate(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || sharedAddresses.Contains(ip))
}

// sharedAddresses are those between a provider and its customers (RFC 6598).
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// forwardedFor returns the client that the value of an X-Forwarded-For names:
// the first public address or, if there is none, the first address. It returns
// "" if the value begins with no address, because the others are of proxies.
func forwardedFor(value string) (client string) {
	if len(value) < 2 {
		return "" // mostly "-"
	}
	for one := range strings.SplitSeq(value, ",") {
		address, ok := parseAddress([]byte(strings.Trim(one, " \"")))
		switch {
		case !ok && client == "":
			return ""
		case ok && !isPrivate(address):
			return address
		case client == "":
			client = address
		}
	}
	return client
}

// isAnotherAddress reports whether the text begins with an address.
func isAnotherAddress(rest []byte) bool {
	if len(rest) == 0 || rest[0] == '-' {
		return false
	}
	word, _ := cutWord(rest)
	_, ok := parseAddress(bytes.TrimSuffix(word, []byte(",")))
	return ok
}
