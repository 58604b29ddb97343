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

// isPlain reports whether a path is of the kind that nearly all are: it begins
// with a slash, has letters, digits and "+,-./:;_" alone, so that it is sent as
// it is, and no other name. It says no to some others that are so, too.
//
// It looks at every URL, so it takes eight bytes at a time, the last of which is
// the first of the next eight.
func isPlain(path string) bool {
	if len(path) < 8 || path[0] != '/' {
		return isPlainSlowly(path)
	}
	var odd uint64 // has the highest bit of each byte set that is not plain
	for i := 0; i < len(path)-1; i += 7 {
		tail := path[min(i, len(path)-8):]
		word := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(tail), 8))
		plain := between(word|each*0x20, 'a', 'z') | between(word, '+', ';') | between(word, '_', '_')
		dots := between(word, '.', '/')
		slashes := dots & high & (word << 7) // "/" is odd
		odd |= word | ^plain | slashes<<8&dots
	}
	return odd&high == 0
}

func isPlainSlowly(path string) bool {
	if path == "" || path[0] != '/' || hasOtherNames(path) {
		return false
	}
	for i := range len(path) {
		switch b := path[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '+' <= b && b <= ';', b == '_':
		default:
			return false
		}
	}
	return true
}

const (
	each = 0x0101010101010101
	high = each << 7
)

// between marks the bytes of a word from first to last by their highest bit, if
// all bytes are below 0x80: no sum carries into the next byte then. The other
// bits are of no meaning.
func between(word uint64, first, last byte) uint64 {
	return (word + each*uint64(0x80-first)) &^ (word + each*uint64(0x7f-last))
}

// hasOtherNames reports whether a target may have other names: whether a slash,
// a dot or an escape follows a slash. It says yes to some that have none.
func hasOtherNames(target string) bool {
	if target[0] != '/' {
		return true
	}
	for i := 1; i < len(target); i++ {
		if b := target[i]; target[i-1] == '/' && (b == '/' || b == '.' || b == '%') {
			return true
		}
	}
	return false
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
