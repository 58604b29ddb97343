package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// nextM returns the first i at or after from where b[i:] begins with "<m" in
// either case, or may if b were longer; len(b) if there is none. Nearly all of
// a page is passed over here. Where tags are rare, as in a script, it goes from
// "<" to "<". Behind one there may be more, and so for a stretch it goes on by
// words of eight bytes, at a third of the cost of looking at each "<".
func nextM(b []byte, from int) int {
	for i := from; ; {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return len(b)
		}
		if i += n; i+1 == len(b) || b[i+1]|' ' == 'm' {
			return i
		}
		i++
		for end := min(i+stretch, len(b)); i+33 <= end; i += 32 {
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
	}
}

// stretch is how many bytes are gone through by words after a "<".
const stretch = 256

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
