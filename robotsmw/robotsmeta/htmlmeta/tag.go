package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A tagReader reads the attributes of a <meta> by the rules of the tokenizer
// (WHATWG HTML §13.2.5.32 to 40). The field b begins after "<meta".
type tagReader struct {
	b []byte
	i int
}

type tagState uint8

const (
	tagMore tagState = iota // an attribute was read
	tagEnd                  // the ">" was read
	tagCut                  // b ends before the tag does
)

// next reads one attribute. key and value are as written. It has many branches,
// one for each state of HTML's tokenizer within a tag.
func (t *tagReader) next() (key, value []byte, state tagState) {
	b, i := t.b, t.i
	for i < len(b) && classes[b[i]]&white != 0 {
		i++
	}
	if i == len(b) {
		return t.cut()
	}
	if b[i] == '>' {
		t.i = i + 1
		return nil, nil, tagEnd
	}
	start := i
	if b[i] == '=' {
		i++
	}
	if i+8 < len(b) {
		// Bit 6 is set in every letter, and in no byte that ends a key. So all
		// bytes before the first byte without bit 6 belong to the key.
		if x := ^binary.LittleEndian.Uint64(b[i:]) & (0x40 * ones); x == 0 {
			i += 8
		} else {
			i += bits.TrailingZeros64(x) / 8
		}
	}
	for i < len(b) && classes[b[i]]&endsKey == 0 {
		i++
	}
	key = b[start:i]
	if i+1 < len(b) && b[i] == '=' && b[i+1] == '"' { // true for nearly all attributes
		i++
	} else {
		if i = skipSpace(b, i); i == len(b) {
			return t.cut()
		}
		if b[i] != '=' {
			if b[i] == '/' {
				i++
			}
			t.i = i
			return key, nil, tagMore
		}
		if i = skipSpace(b, i+1); i == len(b) {
			return t.cut()
		}
	}
	if quote := b[i]; quote == '"' || quote == '\'' {
		i++
		n := bytes.IndexByte(b[i:], quote)
		if n < 0 {
			return t.cut()
		}
		t.i = i + n + 1
		return key, b[i : i+n], tagMore
	}
	start = i
	for i < len(b) && classes[b[i]]&endsValue == 0 {
		i++
	}
	if i == len(b) {
		return t.cut()
	}
	t.i = i
	return key, b[start:i], tagMore
}

func (t *tagReader) cut() (key, value []byte, state tagState) {
	t.i = len(t.b)
	return nil, nil, tagCut
}

func skipSpace(b []byte, from int) int {
	for from < len(b) && isSpace(b[from]) {
		from++
	}
	return from
}

// classes has the class of each byte. The class says whether the byte is white
// space, whether it ends a key, and whether it ends a value without quotes.
var classes = func() (e [256]uint8) {
	for _, c := range []byte(" \t\n\r\f") {
		e[c] = white | endsKey | endsValue
	}
	e['='], e['/'] = endsKey, endsKey
	e['>'] = endsKey | endsValue
	return e
}()

const (
	white     = 1 << iota
	endsKey   // ends an attribute's name
	endsValue // ends a value without quotes
)

func isNameKey(key []byte) bool {
	return len(key) == 4 && key[0]|' ' == 'n' && key[1]|' ' == 'a' && key[2]|' ' == 'm' && key[3]|' ' == 'e'
}

func isSpace(c byte) bool { return classes[c]&white != 0 }
