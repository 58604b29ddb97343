package refusal

import "encoding/binary"

// A sieve holds marks, and nearly every text has none of them. It finds that
// out at a fraction of what a search for each of them costs: it looks at eight
// bytes in each stride only. A mark that is longer than the stride by seven
// bytes or more cannot hide between two looks.
type sieve struct {
	stride int
	at     slots
	places [][]place // the first is none
}

// slots say by the hash of eight bytes which of the sieve's places they may
// have.
type slots [1 << slotBits]uint8

const slotBits = 14

// A place is where in a mark eight bytes stand.
type place struct {
	eight uint64
	mark  string
	at    int
}

// The strides that there are. Both are constants with a loop of its own each:
// by a stride that is a variable it takes twice the time.
const (
	shortStride = 14
	longStride  = 32
)

// newSieve returns the sieve of marks. It panics if one is too short for the
// stride, or if there are too many.
func newSieve(stride int, marks []string) *sieve {
	s := &sieve{stride: stride, places: [][]place{nil}}
	for _, m := range marks {
		for at := range stride {
			slot := &s.at[hash([]byte(m[at:]))]
			if *slot == 0 {
				if len(s.places) > 255 {
					panic("refusal: there are more marks than a sieve can hold")
				}
				*slot = uint8(len(s.places))
				s.places = append(s.places, nil)
			}
			s.places[*slot] = append(s.places[*slot], place{eight([]byte(m[at:])), m, at})
		}
	}
	return s
}

// eight are the first eight bytes.
func eight(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// hash is that of the first eight bytes.
func hash(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15 >> (64 - slotBits)
}

// hasAny reports whether one of the marks stands in text.
func (s *sieve) hasAny(text []byte) bool {
	for i := 0; i < len(text); i += 4 * s.stride {
		if s.stride == shortStride {
			i = s.at.skipShort(text, i)
		} else {
			i = s.at.skipLong(text, i)
		}
		for at := i; at < i+4*s.stride && at+8 <= len(text); at += s.stride {
			if slot := s.at[hash(text[at:])]; slot != 0 && s.stands(text, at, slot) {
				return true
			}
		}
	}
	return false
}

// stands reports whether a mark stands in text such that its eight bytes of the
// slot are at a place.
func (s *sieve) stands(text []byte, at int, slot uint8) bool {
	for i := range s.places[slot] {
		p := &s.places[slot][i]
		if eight(text[at:]) != p.eight {
			continue // nearly always: only the hash is the same
		}
		if begin := at - p.at; begin >= 0 && len(text)-begin >= len(p.mark) && string(text[begin:begin+len(p.mark)]) == p.mark {
			return true
		}
	}
	return false
}

// skipShort passes over text, eight short strides at a time. It returns where it
// stops: where one of the next four looks may have found a mark, or where there
// is no text for eight.
func (t *slots) skipShort(text []byte, i int) int {
	const looks = 7*shortStride + 8
	for ; i+looks <= len(text); i += 8 * shortStride {
		w := text[i : i+looks : len(text)]
		if t.four(w, shortStride) != 0 {
			return i
		}
		if t.four(w[4*shortStride:], shortStride) != 0 {
			return i + 4*shortStride
		}
	}
	return i
}

// skipLong is skipShort with long strides.
func (t *slots) skipLong(text []byte, i int) int {
	const looks = 7*longStride + 8
	for ; i+looks <= len(text); i += 8 * longStride {
		w := text[i : i+looks : len(text)]
		if t.four(w, longStride) != 0 {
			return i
		}
		if t.four(w[4*longStride:], longStride) != 0 {
			return i + 4*longStride
		}
	}
	return i
}

// four looks four times.
func (t *slots) four(w []byte, stride int) uint8 {
	return t[hash(w)] | t[hash(w[stride:])] | t[hash(w[2*stride:])] | t[hash(w[3*stride:])]
}
