package htmlmeta

import (
	"encoding/binary"
	"math/bits"
)

// nextM returns the first i at or after from where b[i:] begins with "<m" in
// either case, or may if b were longer; len(b) if there is none. Nearly all of
// a page is passed over here, by whole blocks, then by eight bytes.
func nextM(b []byte, from int) int {
	i := from + skipM(b[from:])
	for ; i+9 <= len(b); i += 8 {
		if found := beginM(b, i) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '<' && (i+1 == len(b) || b[i+1]|' ' == 'm') {
			return i
		}
	}
	return len(b)
}

// skipWords is skipM by words of eight bytes, for machines without a faster
// one: at a third of the cost of looking at each "<".
func skipWords(b []byte) int {
	i := 0
	for ; i+33 <= len(b); i += 32 {
		w := b[i : i+33]
		if (beginM(w, 0)|beginM(w, 8)|beginM(w, 16)|beginM(w, 24))&highs != 0 {
			break
		}
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// beginM compares eight bytes with "<" and those after them with "m". The
// lowest byte of the result whose high bit is set stands where both are equal;
// none is set where nothing is. (Zero bytes of a word: Hacker's Delight §6-1.)
func beginM(b []byte, i int) uint64 {
	v := (binary.LittleEndian.Uint64(b[i:]) ^ '<'*ones) | ((binary.LittleEndian.Uint64(b[i+1:]) | ' '*ones) ^ 'm'*ones)
	return (v - ones) &^ v
}
