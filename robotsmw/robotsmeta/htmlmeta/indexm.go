package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// indexM returns the first i >= start at which b[i:] begins with "<m" or "<M",
// or len(b). A "<" at the end of b also matches, because "m" may be the first
// byte of the next piece.
//
// A loop over bytes.IndexByte would be simpler, but slows down a crawler of
// local pages by a quarter, because most pages have a "<" every few bytes.
// indexM alternates between two ways of searching: it compares a window of
// bytes eight at a time, and then skips to the next "<" with bytes.IndexByte.
// Because tags are clustered, the window grows while the skips are short.
func indexM(b []byte, start int) int {
	window := minWindow
	i := start
	for {
		end := min(i+window+1, len(b))
		rest := b[i:end]
		for len(rest) > blockSize {
			block := (*[blockSize + 1]byte)(rest)
			excluded := excludeM(block, 0) & excludeM(block, 8) & excludeM(block, 16) & excludeM(block, 24) &
				excludeM(block, 32) & excludeM(block, 40) & excludeM(block, 48) & excludeM(block, 56)
			if excluded&highBits != highBits {
				if j := indexMInBlock(block); j >= 0 {
					return end - len(rest) + j
				}
			}
			rest = rest[blockSize:]
		}
		i = end - len(rest)
		skip := bytes.IndexByte(b[i:], '<')
		if skip < 0 {
			return len(b)
		}
		i += skip
		if mayPrecedeM(b[i:]) {
			return i
		}
		i++
		if skip <= maxShortSkip {
			window = min(2*window, maxWindow)
		} else {
			window = minWindow
		}
	}
}

const (
	blockSize    = 64   // in bytes
	minWindow    = 64   // in bytes
	maxWindow    = 1024 // in bytes
	maxShortSkip = 64   // in bytes
)

// mayPrecedeM reports whether the second byte of b is "m" or "M", or is
// missing. The first byte of b is "<".
func mayPrecedeM(b []byte) bool { return len(b) == 1 || b[1]|' ' == 'm' }

// indexMInBlock returns the index of the first "<m" or "<M" that begins in a
// block, or -1. w contains the block and the byte after it.
func indexMInBlock(w *[blockSize + 1]byte) int {
	for i := 0; i < blockSize; i += 8 {
		candidates := ^excludeM(w, i) & highBits
		for candidates != 0 {
			j := i + bits.TrailingZeros64(candidates)/8
			if w[j] == '<' && w[j+1]|' ' == 'm' {
				return j
			}
			candidates &= candidates - 1 // clear the lowest bit
		}
	}
	return -1
}

const (
	lowBits  = 0x0101010101010101 // the lowest bit of each byte of a word
	highBits = 0x80 * lowBits     // the highest bit of each byte of a word
)

// excludeM compares eight bytes. The highest bit of byte k of the result is set
// only if w[i+k:] does not begin with "<m" or "<M". If it is clear, w[i+k:] is
// a candidate.
//
// Two bits of each byte are not compared: bit 5, in which "m" and "M" differ,
// and bit 7, so that adding 0x7f does not overflow into the next byte.
func excludeM(w *[blockSize + 1]byte, i int) uint64 {
	first := binary.LittleEndian.Uint64(w[i:]) ^ '<'*lowBits
	second := binary.LittleEndian.Uint64(w[i+1:]) ^ 'm'*lowBits
	return (first|second)&(0x5f*lowBits) + 0x7f*lowBits
}
