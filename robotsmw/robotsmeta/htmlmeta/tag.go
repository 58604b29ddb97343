package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// nextM returns the first i at or after from where b[i:] begins with "<m" in either case, or may if b were longer;
// len(b) if there is none. Nearly all of a page is passed over here, so it goes by 32 octets, then by eight: at a
// third of the cost of looking at each "<".
func nextM(b []byte, from int) int {
	i := from
	for ; i+33 <= len(b); i += 32 {
		w := b[i : i+33]
		if (beginM(w, 0)|beginM(w, 8)|beginM(w, 16)|beginM(w, 24))&highs != 0 {
			break
		}
	}
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

// beginM compares eight octets with "<" and those after them with "m". The lowest octet of the result whose high bit is
// set stands where both are equal; none is set where nothing is. (Zero octets of a word: Hacker's Delight §6-1.)
func beginM(b []byte, i int) uint64 {
	v := (binary.LittleEndian.Uint64(b[i:]) ^ '<'*ones) | ((binary.LittleEndian.Uint64(b[i+1:]) | ' '*ones) ^ 'm'*ones)
	return (v - ones) &^ v
}

// A tagReader reads the attributes of b, what follows "<meta", by the rules of the tokenizer (WHATWG HTML §13.2.5.32
// to 40).
type tagReader struct {
	b []byte
	i int
}

type tagState uint8

const (
	tagMore tagState = iota // an attribute was read
	tagEnd                  // the ">" was read
	tagCut                  // b ends first
)

// next reads one attribute; key and value are as written.
func (t *tagReader) next() (key, value []byte, state tagState) {
	if t.space() {
		return nil, nil, tagCut
	}
	b := t.b
	if b[t.i] == '>' {
		t.i++
		return nil, nil, tagEnd
	}
	start := t.i
	if b[t.i] == '=' {
		t.i++
	}
	for t.i < len(b) && b[t.i] != '=' && b[t.i] != '/' && b[t.i] != '>' && !isSpace(b[t.i]) {
		t.i++
	}
	key = b[start:t.i]
	if t.space() {
		return nil, nil, tagCut
	}
	switch b[t.i] {
	case '/':
		t.i++
		return key, nil, tagMore
	case '=':
		t.i++
	default:
		return key, nil, tagMore
	}
	if t.space() {
		return nil, nil, tagCut
	}
	if quote := b[t.i]; quote == '"' || quote == '\'' {
		t.i++
		n := bytes.IndexByte(b[t.i:], quote)
		if n < 0 {
			t.i = len(b)
			return nil, nil, tagCut
		}
		value = b[t.i : t.i+n]
		t.i += n + 1
		return key, value, tagMore
	}
	start = t.i
	for t.i < len(b) && b[t.i] != '>' && !isSpace(b[t.i]) {
		t.i++
	}
	if t.i == len(b) {
		return nil, nil, tagCut
	}
	return key, b[start:t.i], tagMore
}

// space skips white space and reports whether b ends with it.
func (t *tagReader) space() bool {
	for t.i < len(t.b) && isSpace(t.b[t.i]) {
		t.i++
	}
	return t.i == len(t.b)
}

// isNameKey reports whether key is "name" in any case.
func isNameKey(key []byte) bool {
	return len(key) == 4 && key[0]|' ' == 'n' && key[1]|' ' == 'a' && key[2]|' ' == 'm' && key[3]|' ' == 'e'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
