package audit

import (
	"bytes"
	"slices"
	"strings"
)

// An identity is what a line of a log contains about the machine that sent a
// request.
type identity struct {
	host   string // the host that was requested; "" means not known
	peer   string // the other end of the server's connection; "" means not known
	client string // who sent the request: peer, or whom a proxy named; "" means not known
}

// identifyAt reads the client at the beginning of some words. ok is false if
// there is none.
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

// isList reports whether a word is the first one of a list of addresses.
func isList(word []byte) bool { return len(word) > 1 && word[len(word)-1] == ',' }

// identifyList reads a list such as "192.0.2.1, 10.0.0.1 - -": the value of
// X-Forwarded-For, to which each proxy has added whose request it passed on.
func identifyList(words [][]byte) identity {
	n := 1
	for n < len(words) && isList(words[n-1]) {
		n++
	}
	list := string(bytes.Join(words[:n], []byte(" ")))
	peer, _ := parseAddress(words[n-1])
	return identity{peer: peer, client: forwardedFor(list)}
}

// identifyPair reads two addresses in front of the users' names. The first one
// is the host if it has a port as in vhost_combined. Otherwise a private one is
// that of a proxy. If neither is known, one client has both of them.
func identifyPair(word []byte, first, second string) identity {
	switch {
	case bytes.HasSuffix(word, []byte(":80")) || bytes.HasSuffix(word, []byte(":443")):
		_, host := originOf(copied(word))
		return identity{host: host, peer: second, client: second}
	case isPrivate(first) && !isPrivate(second):
		return identity{peer: first, client: second}
	case isPrivate(second) && !isPrivate(first):
		return identity{peer: second, client: first}
	}
	both := first + " " + second
	return identity{peer: both, client: both}
}

// named returns the identity of a client that is the first of three words.
func named(word []byte) identity {
	if address, ok := parseAddress(word); ok {
		return identity{peer: address, client: address}
	}
	name := clip(copied(word))
	if isNobody(name) {
		return identity{}
	}
	return identity{peer: name, client: name}
}

// copied returns the beginning of a word that may be the name of a host or of a
// client. Parts of the result are kept, so it must not be long.
func copied(word []byte) string { return string(word[:min(len(word), 4*longest)]) }

// isNobody reports whether a log has this text where it does not know the
// client: "-" if a header is missing, "unix:" (nginx) if the request came by a
// Unix domain socket, and RFC 7239 §6.2 has "unknown".
func isNobody(name string) bool {
	return strings.HasPrefix(name, "unix:") || slices.Contains([]string{"", "-", "unknown", "(null)", "0.0.0.0", "::"}, strings.ToLower(name))
}

// hasPort reports whether a word is the name of a host with its port, as in
// vhost_combined. In "2001:db8::1" nothing is a port.
func hasPort(word []byte) bool {
	if _, ok := parseAddress(word); ok {
		return false
	}
	host, port, found := bytes.Cut(word, []byte(":"))
	return found && len(host) > 0 && len(port) > 0 && isHost(word)
}

// isHost reports whether a word in front of an address may be the host that was
// requested: it has a port or a dot. Otherwise it may be the name of a machine
// that a log shipper has added.
func isHost(word []byte) bool {
	if bytes.ContainsAny(word, `/=|<>(),;"`) {
		return false
	}
	port := word[bytes.LastIndexByte(word, ':')+1:]
	hasPort := len(port) > 0 && len(port) < len(word) && len(bytes.Trim(port, "0123456789")) == 0
	return hasPort || bytes.IndexByte(word, '.') > 0
}
