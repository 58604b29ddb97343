package robotsmw

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Servers take one path for another: nginx and most of its like serve
// /x/../private/, //private/ and /x/%2e%2e/private/ from /private/. So a path
// with dot segments or empty ones is also judged by the names that it may be
// served by:
//
//   - with its dot segments resolved (RFC 3986 §5.2.4), and then its empty ones
//     merged: /x//../private/ is /x/private/
//   - in the other order: /x//../private/ is /private/
//
// The query is not touched, and %2F is no slash (RFC 9309 §2.2.2).

// matchOtherNames judges a request target by its other names. It returns the
// first that is disallowed, which lets it be; "": none is.
func matchOtherNames(rules *robotstxt.Rules, target string) (m robotstxt.Match, name string) {
	path, query := origin.Path(target), ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path, query = path[:i], path[i:]
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	var buf1, buf2 [256]byte
	for _, isFirst := range [...]bool{true, false} {
		var other []byte
		if isFirst {
			other = appendMerged(buf2[:0], asString(appendResolved(buf1[:0], path)))
		} else {
			other = appendResolved(buf2[:0], asString(appendMerged(buf1[:0], path)))
		}
		if string(other) == path {
			continue
		}
		other = append(other, query...)
		if m = rules.Match(asString(other)); !m.Allowed { // which keeps nothing of it
			return m, string(other)
		}
	}
	return m, ""
}

// hasOtherNames reports whether a target may have other names: whether a slash,
// a dot or an escape follows a slash. It says yes to some that have none.
//
// It looks at every URL, so it takes eight bytes at a time; where one of them
// is as looked for, the sum of marked leaves its highest bit.
func hasOtherNames(target string) bool {
	if target[0] != '/' {
		return true
	}
	i := 0
	for ; i+8 <= len(target); i += 7 { // the last byte is the next one's first
		word := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(target[i:]), 8))
		next := equal(word|each, '/') | equal(word, '%') // "." is one less than "/"
		if equal(word, '/')<<8&next != 0 {
			return true
		}
	}
	for ; i+1 < len(target); i++ {
		if b := target[i+1]; target[i] == '/' && (b == '/' || b == '.' || b == '%') {
			return true
		}
	}
	return false
}

const each = 0x0101010101010101

// equal marks the bytes of a word that are b by their highest bit. It may mark
// too many, but only after one that is.
func equal(word uint64, b byte) uint64 {
	word ^= uint64(b) * each
	return (word - each) &^ word & (each << 7)
}

// appendResolved appends a path, which begins with a slash, without its dot
// segments.
func appendResolved(dst []byte, path string) []byte {
	start := len(dst)
	for path != "" {
		segment, rest, more := strings.Cut(path[1:], "/")
		switch dots(segment) {
		case 0:
			dst = append(append(dst, '/'), segment...)
		case 2:
			dst = dst[:start+max(0, bytes.LastIndexByte(dst[start:], '/'))]
		}
		if !more {
			if dots(segment) > 0 {
				dst = append(dst, '/')
			}
			return dst
		}
		path = path[len(path)-len(rest)-1:]
	}
	return dst
}

// appendMerged appends a path without its empty segments.
func appendMerged(dst []byte, path string) []byte {
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			dst = append(dst, path[i])
		}
	}
	return dst
}

// dots returns 1 for the segment ".", 2 for "..", escaped or not, else 0.
func dots(segment string) int {
	n := 0
	for ; segment != ""; n++ {
		switch {
		case n == 2:
			return 0
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && segment[:2] == "%2" && segment[2]|0x20 == 'e':
			segment = segment[3:]
		default:
			return 0
		}
	}
	return n
}

// asString returns b as a string without copying it. b must not be modified
// while the string is in use.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
