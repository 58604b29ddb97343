package htmlmeta

import (
	"bytes"
	"strings"
)

// findName returns the value of the name attribute of a tag, or nil if the tag
// has none, and the number of bytes that were parsed. b begins after the name
// of the tag. ok is false if the attributes in b are incomplete.
func findName(b []byte) (name []byte, length int, ok bool) {
	rest := b
	for {
		var key, value []byte
		key, value, rest, ok = nextAttribute(rest)
		if !ok {
			return nil, len(b), false
		}
		isName := len(key) == len("name") && strings.EqualFold(string(key), "name")
		if isName {
			return value, len(b) - len(rest), true
		}
		if len(key) == 0 {
			return nil, len(b) - len(rest), true
		}
	}
}

// nextAttribute parses an attribute of a tag as the HTML tokenizer does (WHATWG
// HTML §13.2.5.32 to 40). Character references are not decoded. key is empty at
// the end of the tag. ok is false if the attribute in b is incomplete.
func nextAttribute(b []byte) (key, value, rest []byte, ok bool) {
	for len(b) > 0 && (isSpace(b[0]) || b[0] == '/') {
		b = b[1:]
	}
	if len(b) == 0 || b[0] == '>' {
		return nil, nil, b, len(b) > 0
	}
	keyEnd := 1 // a leading "=" is part of the key
	for keyEnd < len(b) && !endsKey(b[keyEnd]) {
		keyEnd++
	}
	key = b[:keyEnd]
	b = trimLeft(b[keyEnd:])
	if len(b) == 0 || b[0] != '=' {
		return key, nil, b, len(b) > 0
	}
	b = trimLeft(b[1:])
	if len(b) == 0 {
		return nil, nil, nil, false
	}
	if quote := b[0]; quote == '"' || quote == '\'' {
		value, rest, ok = bytes.Cut(b[1:], []byte{quote})
		if !ok {
			return nil, nil, nil, false
		}
		return key, value, rest, true
	}
	valueEnd := 0
	for valueEnd < len(b) && !isSpace(b[valueEnd]) && b[valueEnd] != '>' {
		valueEnd++
	}
	return key, b[:valueEnd], b[valueEnd:], valueEnd < len(b)
}

// endsKey reports whether c ends the key of an attribute.
func endsKey(c byte) bool {
	switch c {
	case '=', '/', '>':
		return true
	}
	return isSpace(c)
}

// space contains the white space characters of HTML.
const space = " \t\r\n\f"

func isSpace(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '\f':
		return true
	}
	return false
}

// trimLeft removes leading white space. It is faster than bytes.TrimLeft for
// the few bytes between attributes.
func trimLeft(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}
