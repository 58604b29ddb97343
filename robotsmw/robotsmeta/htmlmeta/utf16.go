package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// sniff returns the byte order of a page in UTF-16, from its first two bytes
// and its declared charset. For any other page it returns nil. Three things
// override the charset: a byte order mark of UTF-16; a "<" as the first
// character, in UTF-16 or in ASCII; and white space as the first character, in
// UTF-16.
func sniff(page []byte, charset string) binary.ByteOrder {
	if len(page) >= 2 {
		switch a, b := page[0], page[1]; {
		case a == 0xfe && b == 0xff, a == 0 && (b == '<' || isSpace(b)):
			return binary.BigEndian
		case a == 0xff && b == 0xfe, (a == '<' || isSpace(a)) && b == 0:
			return binary.LittleEndian
		case a == '<':
			return nil
		}
	}
	switch strings.ToLower(charset) {
	case "utf-16", "utf-16le":
		return binary.LittleEndian
	case "utf-16be":
		return binary.BigEndian
	}
	return nil
}

// A decoder converts UTF-16, which arrives in pieces, to UTF-8. It leaves other
// encodings as they are.
type decoder struct {
	order   binary.ByteOrder // nil means that the page is not in UTF-16
	sniffed bool
	kept    []byte // bytes that wait for the next piece
}

func (d *decoder) decode(p []byte, charset string) []byte {
	if len(d.kept) > 0 {
		p, d.kept = append(d.kept, p...), nil
	}
	if !d.sniffed {
		if len(p) < 2 {
			d.kept = bytes.Clone(p)
			return nil
		}
		d.order, d.sniffed = sniff(p, charset), true
	}
	if d.order == nil {
		return p
	}
	var units []uint16
	for len(p) >= 2 {
		unit := d.order.Uint16(p)
		if isFirstHalf := unit>>10 == 0xd800>>10; isFirstHalf && len(p) < 4 {
			break // of a surrogate pair, whose other half is still to come
		}
		units, p = append(units, unit), p[2:]
	}
	d.kept = bytes.Clone(p)
	return []byte(string(utf16.Decode(units))) // a lone half becomes U+FFFD
}
