package htmlmeta

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

type encoding uint8

const (
	undecided    encoding = iota
	eightBit              // any encoding that contains ASCII; not decoded
	littleEndian          // UTF-16 with the low byte first
	bigEndian
)

// sniff returns the encoding of a page, from its first two bytes and its
// declared charset. Three things override the charset: a byte order mark of
// UTF-16; a "<" as the first character, in UTF-16 or in ASCII; and white space
// as the first character, in UTF-16.
func sniff(page []byte, charset string) encoding {
	if len(page) >= 2 {
		switch a, b := page[0], page[1]; {
		case a == 0xfe && b == 0xff, a == 0 && (b == '<' || isSpace(b)):
			return bigEndian
		case a == 0xff && b == 0xfe, (a == '<' || isSpace(a)) && b == 0:
			return littleEndian
		case a == '<':
			return eightBit
		}
	}
	switch strings.ToLower(charset) {
	case "utf-16", "utf-16le":
		return littleEndian
	case "utf-16be":
		return bigEndian
	}
	return eightBit
}

// A decoder converts UTF-16, which arrives in pieces, to UTF-8. It leaves other
// encodings as they are.
type decoder struct {
	encoding encoding
	kept     [2]byte // bytes that wait for the next piece
	n        int     // how many bytes wait for the next piece
	high     rune    // the first half of a surrogate pair; 0 if none waits for its second half
}

// append decodes p and appends it to dst. The result has at most limit bytes.
func (d *decoder) append(dst, p []byte, charset string, limit int) []byte {
	if d.encoding == undecided {
		for len(p) > 0 && d.n < 2 {
			d.kept[d.n] = p[0]
			d.n++
			p = p[1:]
		}
		if d.n < 2 {
			return dst
		}
		d.encoding = sniff(d.kept[:], charset)
		first := d.kept
		d.n = 0
		dst = d.append(dst, first[:], charset, limit)
	}
	if d.encoding == eightBit {
		return append(dst, p[:min(len(p), limit-len(dst))]...)
	}
	for len(p) > 0 && len(dst) < limit {
		d.kept[d.n] = p[0]
		p = p[1:]
		if d.n++; d.n < 2 {
			continue
		}
		d.n = 0
		unit := rune(d.kept[0])<<8 | rune(d.kept[1])
		if d.encoding == littleEndian {
			unit = rune(d.kept[1])<<8 | rune(d.kept[0])
		}
		if d.high != 0 {
			if r := utf16.DecodeRune(d.high, unit); r != utf8.RuneError {
				dst, d.high = utf8.AppendRune(dst, r), 0
				continue
			}
			dst, d.high = utf8.AppendRune(dst, utf8.RuneError), 0
		}
		if 0xd800 <= unit && unit < 0xdc00 {
			d.high = unit
			continue
		}
		dst = utf8.AppendRune(dst, unit) // a lone second half becomes U+FFFD
	}
	return dst[:min(len(dst), limit)]
}
