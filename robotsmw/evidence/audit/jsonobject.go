package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

var (
	errJSON   = errors.New("the line is not a JSON object")
	errObject = errors.New("the object has no request with a time and a URL")
)

// everyMember calls each with the names of all members in a line of JSON,
// including those within other members. rest is the part of the line after the
// colon; see firstValue. everyMember returns false if the line is not valid
// JSON; each may have been called for the members before the error.
func everyMember(line []byte, each func(name, rest []byte)) bool {
	s := jsonScan{line: line, each: each}
	if !s.value() {
		return false
	}
	s.skipSpace()
	return s.next == len(line)
}

// firstValue returns the value of a member, verbatim. For an array, such as the
// values of a header field, it returns the first element; for an object, a
// prefix that is not a valid value, but not empty.
func firstValue(rest []byte) []byte {
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '[') {
		rest = rest[1:]
	}
	if _, after, ok := quoted(rest); ok {
		return rest[:len(rest)-len(after)]
	}
	return rest[:max(bytes.IndexAny(rest, ",}] "), 0)]
}

// text returns a JSON string without its quotes and escapes. It returns "" for
// any other value.
func text(value []byte) string { return string(unquoted(value)) }

// unquoted is like text, but the result is a part of value, unless value
// contains escapes or is not valid UTF-8.
func unquoted(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	plain := value[1 : len(value)-1]
	if bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return plain
	}
	var s string
	json.Unmarshal(value, &s)
	return []byte(s)
}

// plain returns a JSON string without its quotes and escapes, or a number
// verbatim. It returns "" for any other value.
func plain(value []byte) string {
	isNumber := len(value) > 0 && (value[0] == '-' || isDigits(value[:1]))
	if isNumber {
		return string(value)
	}
	return text(value)
}

// eachMember calls each with the members of a JSON object, but not with those
// of objects within it. It returns false if the line is not a JSON object.
// Numbers and literals are not checked.
func eachMember(line []byte, each func(name, value []byte)) bool {
	s := trimSpace(line)
	if len(s) == 0 || s[0] != '{' {
		return false
	}
	s = trimSpace(s[1:])
	for len(s) > 0 && s[0] != '}' {
		name, rest, ok := quoted(s)
		rest = trimSpace(rest)
		if !ok || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		rest = trimSpace(rest[1:])
		n := valueLength(rest)
		if n == 0 {
			return false
		}
		each(name, rest[:n])
		s = trimSpace(rest[n:])
		if len(s) > 1 && s[0] == ',' {
			s = trimSpace(s[1:])
		} else if len(s) == 0 || s[0] != '}' {
			return false
		}
	}
	return len(s) > 0 && len(trimSpace(s[1:])) == 0
}

// valueLength returns the length of the JSON value at the beginning of s in
// bytes, or 0 if there is none.
func valueLength(s []byte) int {
	if len(s) == 0 {
		return 0
	}
	switch s[0] {
	case '"':
		_, rest, ok := quoted(s)
		if !ok {
			return 0
		}
		return len(s) - len(rest)
	case '{', '[':
		return nestedLength(s)
	}
	n := 0
	for n < len(s) && isLiteralByte(s[n]) {
		n++
	}
	return n
}

// isLiteralByte reports whether a number, true, false or null may contain b.
func isLiteralByte(b byte) bool {
	if 'a' <= b && b <= 'z' || '0' <= b && b <= '9' {
		return true
	}
	return b == '-' || b == '+' || b == '.' || b == 'E'
}

// nestedLength returns the length of the object or array at the beginning of s
// in bytes, or 0 if its end is missing.
func nestedLength(s []byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			text, _, ok := quoted(s[i:])
			if !ok {
				return 0
			}
			i += len(text) + 1
		}
		if depth == 0 {
			return i + 1
		}
	}
	return 0
}

func trimSpace(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t' || s[0] == '\r') {
		s = s[1:]
	}
	return s
}

// members contains the members of a line that some format uses, by their names.
type members map[string][]byte

// first returns the first value of these members that is neither empty nor "-",
// without its quotes. If there is none, it returns "".
func (m members) first(names ...string) string {
	for _, name := range names {
		if s := plain(m[name]); s != "" && s != "-" {
			return s
		}
	}
	return ""
}
