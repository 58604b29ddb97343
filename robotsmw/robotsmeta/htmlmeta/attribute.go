package htmlmeta

import (
	"bytes"
	"strings"
)

// nameIn returns the value of the attribute "name" of a tag, or nil, and how
// many bytes it has read to find it. b begins after the tag's own name. ok is
// false if b ends too early.
func nameIn(b []byte) (name []byte, read int, ok bool) {
	for rest := b; ; {
		key, value, after, ok := nextAttribute(rest)
		switch {
		case !ok:
			return nil, len(b), false
		case len(key) == len("name") && strings.EqualFold(string(key), "name"):
			return value, len(b) - len(after), true
		case len(key) == 0:
			return nil, len(b) - len(after), true
		}
		rest = after
	}
}

// nextAttribute reads one attribute of a tag, by the rules of the tokenizer
// (WHATWG HTML §13.2.5.32 to 40). key and value are as written. key is empty at
// the end of the tag. ok is false if b ends before the attribute does.
func nextAttribute(b []byte) (key, value, rest []byte, ok bool) {
	for len(b) > 0 && (isSpace(b[0]) || b[0] == '/') {
		b = b[1:]
	}
	if len(b) == 0 || b[0] == '>' {
		return nil, nil, b, len(b) > 0
	}
	end := 1 // a "=" at the beginning belongs to the key
	for end < len(b) && !isSpace(b[end]) && b[end] != '=' && b[end] != '/' && b[end] != '>' {
		end++
	}
	key, b = b[:end], skipSpace(b[end:])
	if len(b) == 0 || b[0] != '=' {
		return key, nil, b, len(b) > 0
	}
	b = skipSpace(b[1:])
	if len(b) == 0 {
		return nil, nil, nil, false
	}
	if b[0] == '"' || b[0] == '\'' {
		if end = bytes.IndexByte(b[1:], b[0]); end < 0 {
			return nil, nil, nil, false
		}
		return key, b[1 : 1+end], b[2+end:], true
	}
	end = 0
	for end < len(b) && !isSpace(b[end]) && b[end] != '>' {
		end++
	}
	return key, b[:end], b[end:], end < len(b)
}

const space = " \t\r\n\f"

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f')
}

// skipSpace is a bytes.TrimLeft that is fast where there is nothing to trim.
func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}
