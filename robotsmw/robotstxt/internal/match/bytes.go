package match

import (
	"slices"
	"sync"
	"unsafe"
)

// ones has the value 1 in each of its eight bytes. highs has the value 0x80 in
// each.
const ones, highs = 0x0101010101010101, 0x8080808080808080

// load64 returns the first eight bytes of s as a number. The first byte is in
// its lowest eight bits.
func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// load32 returns the first four bytes of s as a number. The first byte is in
// its lowest eight bits.
func load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

type byteSet [2]uint64

func (s byteSet) with(c byte) byteSet {
	s[c>>6&1] |= 1 << (c & 63)
	return s
}

func (s *byteSet) has(c byte) bool { return s[c>>6&1]>>(c&63)&1 != 0 }

// asString returns b as a string without copying it. b must not change while
// the string is in use.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// stackBuffer is the size in bytes of a buffer on the stack. It is enough for
// nearly all targets in canonical form. Longer targets and patterns use a
// buffer from a pool.
const stackBuffer = 512

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// zeroed sets *buf to n zeros and returns it. It allocates only if *buf has no
// room for them.
func zeroed[E any](buf *[]E, n int) []E {
	*buf = slices.Grow((*buf)[:0], n)[:n]
	clear(*buf)
	return *buf
}
