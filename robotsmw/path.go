package robotsmw

import (
	"encoding/binary"
	"unsafe"
)

// isPlain reports whether a path is plain, as nearly all are. A plain path
// begins with a slash, has only letters, digits and "+,-./:;_", and has neither
// "//" nor "/.". So it is sent as it is, and it has no other name (see the
// package doc of robotstxt).
//
// isPlain sees every URL, so it looks at eight bytes at a time. Each step
// overlaps the next one by at least one byte, so no pair of neighbours is
// missed.
func isPlain(path string) bool {
	if len(path) < 8 || path[0] != '/' {
		return isPlainSlowly(path)
	}
	var odd uint64 // if path is not plain, one or more bytes of odd have their highest bit set
	for i := 0; i < len(path)-1; i += 7 {
		tail := path[min(i, len(path)-8):]
		word := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(tail), 8))
		plain := between(word|each*0x20, 'a', 'z') | between(word, '+', ';') | between(word, '_', '_')
		dots := between(word, '.', '/')
		slashes := dots & high & (word << 7) // "/" has its lowest bit set, and "." does not
		odd |= word | ^plain | slashes<<8&dots
	}
	return odd&high == 0
}

func isPlainSlowly(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		switch b := path[i]; {
		case i > 0 && path[i-1] == '/' && (b == '.' || b == '/'):
			return false
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

// between compares each byte of word with the range from first to last. In the
// result, the highest bit of a byte says whether the same byte of word is in
// the range. The other bits have no meaning. The result is right only if all
// bytes are below 0x80: the sum of a larger byte may overflow into the next
// byte.
func between(word uint64, first, last byte) uint64 {
	return (word + each*uint64(0x80-first)) &^ (word + each*uint64(0x7f-last))
}

// asString returns b as a string without copying it. b must not be modified
// while the string is in use.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
