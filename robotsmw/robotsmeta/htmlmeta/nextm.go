package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// nextM returns the first i >= from at which b[i:] begins with "<m" or "<M". A
// "<" at the end of b counts too, because an "m" may follow in the next piece.
// If there is no such i, nextM returns len(b).
//
// It could be a loop over bytes.IndexByte, but then pages over loopback would
// take a quarter longer.
//
// nextM skips nearly all of a page, and alternates between two ways of doing
// so. First it looks for "<m" in a stretch of the page, at eight places at a
// time. Then it jumps to the next "<", where another stretch begins. Tags come
// in clusters, so after a short jump the next stretch is longer. After a long
// jump, it is as short as the first one.
func nextM(b []byte, from int) int {
	stretch := minStretch
	for i := from; ; {
		end := min(i+stretch+1, len(b))
		rest := b[i:end]
		for ; len(rest) > 64; rest = rest[64:] {
			w := (*[65]byte)(rest)
			if noM(w, 0)&noM(w, 8)&noM(w, 16)&noM(w, 24)&noM(w, 32)&noM(w, 40)&noM(w, 48)&noM(w, 56)&highs == highs {
				continue
			}
			for at := 0; at < 64; at += 8 {
				for maybe := ^noM(w, at) & highs; maybe != 0; maybe &= maybe - 1 {
					if j := at + bits.TrailingZeros64(maybe)/8; w[j] == '<' && isM(w[j:]) {
						return end - len(rest) + j
					}
				}
			}
		}
		i = end - len(rest)
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return len(b)
		}
		if i += n; isM(b[i:]) {
			return i
		}
		i++
		if n <= near {
			stretch = min(2*stretch, maxStretch)
		} else {
			stretch = minStretch
		}
	}
}

// isM reports whether b, which begins with "<", goes on with an "m" or ends.
func isM(b []byte) bool { return len(b) == 1 || b[1]|' ' == 'm' }

const (
	minStretch = 64   // the shortest stretch, in bytes
	maxStretch = 1024 // the longest stretch, in bytes
	near       = 64   // the longest jump, in bytes, that counts as short
)

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// noM looks for "<m" at the eight places from w[i] on. Each byte of the result
// stands for one place. If the high bit of that byte is set, there is no "<m"
// at the place. If the bit is clear, there may be one. Bits 5 and 7 are not
// compared. "m" and "M" differ only in bit 5. Bit 7 is left out because noM
// adds 0x7f to each byte, and the sum must not overflow into the next byte.
func noM(w *[65]byte, i int) uint64 {
	differ := (binary.LittleEndian.Uint64(w[i:]) ^ '<'*ones) | (binary.LittleEndian.Uint64(w[i+1:]) ^ 'm'*ones)
	return differ&(0x5f*ones) + 0x7f*ones
}
