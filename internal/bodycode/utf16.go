package bodycode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// NewTextReader returns a reader of r's text in UTF-8. If r begins with a byte
// order mark of UTF-16, its text is converted, and unpaired surrogates become
// U+FFFD. Any other text is returned unchanged. No byte order mark is left out.
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
	pending []byte // of the last rune, if it did not fit into the caller's slice
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
			break // without what is there, Read would block
		}
		u.readRune()
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, u.err
}

// readRune appends the next rune to pending, or sets err.
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

// Text returns a text in UTF-8: body unchanged, unless it begins with a byte
// order mark of UTF-16. A body longer than most is cut, perhaps within a line,
// so the converted text ends with its last whole line. Because UTF-8 usually
// takes less space, NULs follow that make the text longer than most. Without
// them, a parser would not notice that the rest is missing.
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
