package audit

import (
	"bytes"
	"slices"
	"strings"
)

// An identity is what a line of a log contains about the machine that sent a
// request.
type identity struct {
	// "" means not known.
	host   string // the host that was requested
	peer   string // the other end of the server's connection
	client string // peer or, if that is a proxy, the client according to the proxy
}

// identifyAt reads the client at the beginning of words, which must contain at
// least two elements. ok is false if words does not begin with a client.
func identifyAt(words [][]byte) (id identity, ok bool) {
	if isList(words[0]) {
		return identifyList(words), true
	}
	peer, ok := parseAddress(words[0])
	if !ok {
		return identity{}, false
	}
	if second, ok := parseAddress(words[1]); ok {
		return identifyPair(words[0], peer, second), true
	}
	if isList(words[1]) {
		id = identifyList(words[1:])
		id.peer = peer
		return id, true
	}
	return identity{peer: peer, client: peer}, string(words[1]) == "-"
}

// isList reports whether a word ends with a comma, so that it belongs to a list
// of addresses that continues with the next word.
func isList(word []byte) bool { return len(word) > 1 && word[len(word)-1] == ',' }

// identifyList reads a list such as "192.0.2.1, 10.0.0.1 - -": the value of
// X-Forwarded-For, to which each proxy has appended the address of its client.
func identifyList(words [][]byte) identity {
	n := 1
	for n < len(words) && isList(words[n-1]) {
		n++
	}
	list := string(bytes.Join(words[:n], []byte(" ")))
	peer, _ := parseAddress(words[n-1])
	return identity{peer: peer, client: forwardedFor(list)}
}

// identifyPair reads the two addresses before the user names. If the first has
// the port 80 or 443, as in the format vhost_combined, it is the host, and the
// second is the client. Otherwise, if exactly one is private, that is the
// address of a proxy. Otherwise the two addresses together identify the client.
func identifyPair(word []byte, first, second string) identity {
	if bytes.HasSuffix(word, []byte(":80")) || bytes.HasSuffix(word, []byte(":443")) {
		_, host := splitOrigin(copied(word))
		return identity{host: host, peer: second, client: second}
	}
	if isPrivate(first) && !isPrivate(second) {
		return identity{peer: first, client: second}
	}
	if isPrivate(second) && !isPrivate(first) {
		return identity{peer: second, client: first}
	}
	both := first + " " + second
	return identity{peer: both, client: both}
}

// identifyName reads a client that is the first of three words, and may have
// any name.
func identifyName(word []byte) identity {
	if address, ok := parseAddress(word); ok {
		return identity{peer: address, client: address}
	}
	name := clip(copied(word))
	if isUnknown(name) {
		return identity{}
	}
	return identity{peer: name, client: name}
}

// copied returns a copy of the beginning of a word that may be the name of a
// host or of a client. The length of the copy is limited because parts of it
// stay in memory.
func copied(word []byte) string { return string(word[:min(len(word), 4*maxName)]) }

// unknownClients are the texts that logs contain if the client is not known:
// "-" if a header is missing, and "unknown" according to RFC 7239 §6.2.
var unknownClients = []string{"", "-", "unknown", "(null)", "0.0.0.0", "::"}

// isUnknown reports whether logs contain name instead of a client that is not
// known. nginx writes "unix:" for a Unix domain socket.
func isUnknown(name string) bool {
	return strings.HasPrefix(name, "unix:") || slices.Contains(unknownClients, strings.ToLower(name))
}

// hasPort reports whether a word is the name of a host with its port, as in
// vhost_combined. An address such as "2001:db8::1" has no port.
func hasPort(word []byte) bool {
	if _, ok := parseAddress(word); ok {
		return false
	}
	host, port, _ := bytes.Cut(word, []byte(":"))
	return len(host) > 0 && len(port) > 0 && isHost(word)
}

// isHost reports whether a word before an address may be the host that was
// requested: it has a port or a dot. A word without them may be the name of a
// machine that a log shipper has added.
func isHost(word []byte) bool {
	if bytes.ContainsAny(word, `/=|<>(),;"`) {
		return false
	}
	port := word[bytes.LastIndexByte(word, ':')+1:]
	hasPort := len(port) < len(word) && isDigits(port)
	return hasPort || bytes.IndexByte(word, '.') > 0
}
