package htmlmeta

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// utf16Order returns the byte order of a page in UTF-16, or nil if the page has
// another encoding. The first two bytes override the charset if they are a byte
// order mark of UTF-16, a "<" in UTF-16 or ASCII, or white space in UTF-16.
func utf16Order(page []byte, charset string) binary.ByteOrder {
	if len(page) >= 2 {
		switch a, b := page[0], page[1]; {
		case a == 0xfe && b == 0xff, a == 0 && beginsHTML(b):
			return binary.BigEndian
		case a == 0xff && b == 0xfe, beginsHTML(a) && b == 0:
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

// beginsHTML reports whether an HTML page usually begins with the character c.
func beginsHTML(c byte) bool { return c == '<' || isSpace(c) }

// A decoder converts a page that arrives in pieces from UTF-16 to UTF-8. It
// does not change pages in other encodings.
type decoder struct {
	order    binary.ByteOrder // nil if the page is not in UTF-16
	detected bool             // whether order has been set
	pending  []byte           // an incomplete character at the end of the previous piece
}

func (d *decoder) decode(p []byte, charset string) []byte {
	if len(d.pending) > 0 {
		p = append(d.pending, p...)
		d.pending = nil
	}
	if !d.detected {
		if len(p) < 2 {
			d.pending = bytes.Clone(p)
			return nil
		}
		d.order = utf16Order(p, charset)
		d.detected = true
	}
	if d.order == nil {
		return p
	}
	var units []uint16
	for len(p) >= 2 {
		unit := d.order.Uint16(p)
		isHighSurrogate := unit>>10 == 0xd800>>10
		if isHighSurrogate && len(p) < 4 {
			break // the low surrogate is in the next piece
		}
		units = append(units, unit)
		p = p[2:]
	}
	d.pending = bytes.Clone(p)
	return []byte(string(utf16.Decode(units))) // a lone surrogate becomes U+FFFD
}
