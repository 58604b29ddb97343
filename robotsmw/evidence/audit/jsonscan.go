package audit

// maxJSONDepth is the maximum nesting depth of objects and arrays, as in
// encoding/json.
const maxJSONDepth = 10_000

// A jsonScan finds the members in a line of JSON, and checks the syntax of the
// line (RFC 8259). It accepts the same lines as json.Valid, but is faster,
// because json.Valid calls a function for each byte.
type jsonScan struct {
	line  []byte
	next  int // the index of the next byte
	depth int // the number of objects and arrays that contain the next byte
	each  func(name, rest []byte)
}

// value skips a value. Like the other methods, it returns false if the syntax
// is invalid.
func (s *jsonScan) value() bool {
	s.skipSpace()
	switch s.peek() {
	case '{':
		return s.nested('}', (*jsonScan).member)
	case '[':
		return s.nested(']', (*jsonScan).value)
	case '"':
		return s.text()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

// nested skips an object or an array, which ends with the byte last. item skips
// one member or element.
func (s *jsonScan) nested(last byte, item func(*jsonScan) bool) bool {
	s.next++
	s.depth++
	if s.depth > maxJSONDepth {
		return false
	}
	isDone := s.accept(last)
	for !isDone {
		if !item(s) {
			return false
		}
		isDone = s.accept(last)
		if !isDone && !s.accept(',') {
			return false
		}
	}
	s.depth--
	return true
}

// member skips a member of an object. It calls each if the colon follows the
// name without a space, as in the logs of servers.
func (s *jsonScan) member() bool {
	s.skipSpace()
	begin := s.next
	if !s.text() {
		return false
	}
	if s.peek() == ':' {
		s.each(s.line[begin+1:s.next-1], s.line[s.next+1:])
	}
	return s.accept(':') && s.value()
}

// text skips a string, which may contain bytes that are not UTF-8.
func (s *jsonScan) text() bool {
	if s.peek() != '"' {
		return false
	}
	for i := s.next + 1; i < len(s.line); i++ {
		b := s.line[i]
		if b == '"' {
			s.next = i + 1
			return true
		}
		if b < ' ' {
			return false
		}
		if b == '\\' {
			n := escapeLength(s.line[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		}
	}
	return false
}

// escapeLength returns the length of the escape sequence at the beginning of s
// in bytes, or 0 if it is invalid.
func escapeLength(s []byte) int {
	if len(s) < len(`\n`) {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return len(`\n`)
	case 'u':
		if len(s) < len(`\u0000`) {
			return 0
		}
		for _, b := range s[len(`\u`):len(`\u0000`)] {
			if !isHex(b) {
				return 0
			}
		}
		return len(`\u0000`)
	}
	return 0
}

func isHex(b byte) bool {
	isDigit := '0' <= b && b <= '9'
	isLetter := 'a' <= b|0x20 && b|0x20 <= 'f'
	return isDigit || isLetter
}

// number skips a number, such as -1.5e+3.
func (s *jsonScan) number() bool {
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return false
	}
	if s.skip('.') && !s.digits() {
		return false
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		return s.digits()
	}
	return true
}

// digits skips one or more digits.
func (s *jsonScan) digits() bool {
	begin := s.next
	for '0' <= s.peek() && s.peek() <= '9' {
		s.next++
	}
	return s.next > begin
}

// literal skips a word, such as "true".
func (s *jsonScan) literal(word string) bool {
	rest := s.line[s.next:]
	if len(rest) < len(word) || string(rest[:len(word)]) != word {
		return false
	}
	s.next += len(word)
	return true
}

// accept skips white space and then the byte b. It returns false if b does not
// follow.
func (s *jsonScan) accept(b byte) bool {
	s.skipSpace()
	return s.skip(b)
}

// skip skips the byte b. It returns false if b does not follow.
func (s *jsonScan) skip(b byte) bool {
	if s.peek() != b {
		return false
	}
	s.next++
	return true
}

func (s *jsonScan) skipSpace() {
	for isJSONSpace(s.peek()) {
		s.next++
	}
}

func isJSONSpace(b byte) bool {
	return b == ' ' || b == '\t' || b == '\r' || b == '\n'
}

// peek returns the next byte, or 0 at the end of the line. A 0 is not allowed
// anywhere in JSON.
func (s *jsonScan) peek() byte {
	if s.next == len(s.line) {
		return 0
	}
	return s.line[s.next]
}
