package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// nextM returns the first i >= from at which b[i:] begins with "<m" or "<M". A
// "<" at the end of b counts too, because an "m" may follow in the next piece.
// If there is none, nextM returns len(b).
//
// Nearly all of a page is skipped here. Where tags are rare, as in text or a
// script, nextM jumps from "<" to "<". Where tags are near each other, it
// compares words of eight bytes for a stretch. That costs a third of a look at
// each "<". Of successive stretches each is twice as long as the one before, up
// to maxStretch.
func nextM(b []byte, from int) int {
	stretch := 32
	for i := from; ; {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return len(b)
		}
		if i += n; i+1 == len(b) || b[i+1]|' ' == 'm' {
			return i
		}
		i++
		if n > near {
			stretch = 32
			continue
		}
		for end := min(i+stretch+1, len(b)); i+33 <= end; i += 32 {
			w := b[i : i+33]
			if (beginM(w, 0)|beginM(w, 8)|beginM(w, 16)|beginM(w, 24))&highs == 0 {
				continue
			}
			for at := 0; at < 32; at += 8 {
				if found := beginM(w, at) & highs; found != 0 {
					return i + at + bits.TrailingZeros64(found)/8
				}
			}
		}
		stretch = min(2*stretch, maxStretch)
	}
}

const (
	near       = 48  // a longer way to the next "<" costs more by words
	maxStretch = 512 // bytes that are compared as words in a row
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// beginM compares b[i:i+8] with "<" and b[i+1:i+9] with "m" or "M", byte by
// byte. The lowest high bit set in the result marks the first byte at which
// both are equal. If no high bit is set, there is none. (It finds the zero
// bytes of a word: Hacker's Delight §6-1.)
func beginM(b []byte, i int) uint64 {
	v := (binary.LittleEndian.Uint64(b[i:]) ^ '<'*ones) | ((binary.LittleEndian.Uint64(b[i+1:]) | ' '*ones) ^ 'm'*ones)
	return (v - ones) &^ v
}
