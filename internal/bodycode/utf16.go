package bodycode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// NewTextReader returns a reader of the text in r. If r begins with a byte
// order mark of UTF-16, the text is converted to UTF-8, and each unpaired
// surrogate becomes U+FFFD. Any other text is unchanged. A byte order mark is
// not removed.
func NewTextReader(r *bufio.Reader) *bufio.Reader {
	mark, _ := r.Peek(2)
	switch string(mark) {
	case "\xfe\xff":
		return bufio.NewReader(&utf16Reader{source: r, order: binary.BigEndian})
	case "\xff\xfe":
		return bufio.NewReader(&utf16Reader{source: r, order: binary.LittleEndian})
	}
	return r
}

// A utf16Reader reads UTF-16 and returns UTF-8.
type utf16Reader struct {
	source  *bufio.Reader
	order   binary.ByteOrder
	pending []byte // the rest of a rune that did not fit into the caller's slice
	err     error
}

func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.pending) > 0 {
			k := copy(p[n:], u.pending)
			u.pending = u.pending[k:]
			n += k
			continue
		}
		if u.err != nil || n > 0 && u.source.Buffered() < 4 {
			break // the next rune may require a read that blocks
		}
		u.readRune()
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, u.err
}

// readRune sets pending to the next rune. At the end of the source, it sets
// err.
func (u *utf16Reader) readRune() {
	first, err := u.source.Peek(2)
	if len(first) < 2 {
		if len(first) == 1 { // half of a code unit
			u.source.Discard(1)
			u.pending = utf8.AppendRune(nil, utf8.RuneError)
		}
		u.err = err
		return
	}
	unit := rune(u.order.Uint16(first))
	u.source.Discard(2)
	if utf16.IsSurrogate(unit) {
		second, _ := u.source.Peek(2)
		pair := rune(utf8.RuneError)
		if len(second) == 2 {
			pair = utf16.DecodeRune(unit, rune(u.order.Uint16(second)))
		}
		if pair != utf8.RuneError {
			u.source.Discard(2)
		}
		unit = pair
	}
	u.pending = utf8.AppendRune(u.pending[:0], unit)
}

// Text converts body to UTF-8 if it begins with a byte order mark of UTF-16.
// Otherwise it returns body unchanged. If a body to be converted is longer than
// most bytes, it is the beginning of a longer text and may end within a line,
// so Text removes an incomplete last line. Because UTF-8 usually takes less
// space than UTF-16, Text then appends NULs until the result is longer than
// most. Without them, a parser would not notice that the rest is missing.
func Text(body []byte, most int) []byte {
	source := bufio.NewReader(bytes.NewReader(body))
	text := NewTextReader(source)
	if text == source {
		return body
	}
	converted, _ := io.ReadAll(text) // neither reader returns an error
	if len(body) <= most {
		return converted
	}
	lines := converted[:bytes.LastIndexAny(converted, "\r\n")+1]
	return append(lines, make([]byte, max(0, most+1-len(lines)))...)
}
