package refusal

import "encoding/binary"

// A sieve finds out quickly whether a text contains one of its marks. Nearly
// all texts contain none. The sieve looks at eight bytes of the text at a time,
// at places that are one stride apart. Each mark is at least seven bytes longer
// than the stride. So wherever a mark is in the text, the sieve looks at eight
// bytes inside the mark, and does not miss it.
type sieve struct {
	stride int
	at     slots
	places [][]place // by slot; places[0] is empty, because slot 0 means no mark
}

// slots maps the hash of eight bytes to a slot: an index in sieve.places, or 0
// if no mark has bytes with this hash.
type slots [1 << slotBits]uint8

const slotBits = 14

// A place is an index in a mark, with the eight bytes of the mark that begin
// there.
type place struct {
	eight uint64
	mark  string
	at    int
}

// These are the two strides, in bytes. Each is a constant with a loop of its
// own, because one loop for a variable stride takes twice the time.
const (
	shortStride = 14
	longStride  = 32
)

// newSieve returns the sieve of marks. It panics if a mark is too short for the
// stride, or if there are too many marks.
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

func eight(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// hash() returns the hash of the first eight bytes of b.
func hash(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15 >> (64 - slotBits)
}

// hasAny reports whether text contains one of the marks.
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

// stands() reports whether the eight bytes from text[at] on are inside a mark.
// slot is the slot of these bytes.
func (s *sieve) stands(text []byte, at int, slot uint8) bool {
	for i := range s.places[slot] {
		p := &s.places[slot][i]
		if eight(text[at:]) != p.eight {
			continue // only the hashes are equal, not the bytes
		}
		if begin := at - p.at; begin >= 0 && len(text)-begin >= len(p.mark) && string(text[begin:begin+len(p.mark)]) == p.mark {
			return true
		}
	}
	return false
}

// skipShort goes through text from index i on. It looks at places that are a
// short stride apart. It stops if one of the next four places may be in a mark,
// or if fewer than eight places remain in text. It returns the index where it
// stops.
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

// skipLong is like skipShort, but with the long stride.
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

// four() looks at four places in w that are a stride apart. It returns 0 if
// none of these places can be in a mark.
func (t *slots) four(w []byte, stride int) uint8 {
	return t[hash(w)] | t[hash(w[stride:])] | t[hash(w[2*stride:])] | t[hash(w[3*stride:])]
}
