package preference

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A dictionary is a Dictionary of Structured Fields (RFC 9651 §3.2). It has all
// members as they were written, so it may have a key twice.
type dictionary []member

// A member is a key with its value: an inner list ([]item) or a bare item. A
// parameter is a member too.
type member struct {
	key    string
	value  any
	params []member // in the order written
}

// An item is a value with its parameters (RFC 9651 §3.3). The value is an int64
// (Integer), decimal, string, token, []byte (Byte Sequence), bool, date or
// displayString.
type item struct {
	value  any
	params []member
}

type (
	token         string
	displayString string
	date          int64 // seconds since 1970
	decimal       int64 // thousandths
)

// maxDictionary is how many bytes a Dictionary may have. The longest item that
// a parser must accept (RFC 9651 §3) is a Byte Sequence of 16384 bytes. Written
// in base64, it takes a third of maxDictionary.
const maxDictionary = 64 << 10

// token returns the value of a key if the value is a token. If the key was
// given twice, the last value counts.
func (d dictionary) token(key string) (token, bool) {
	for i := len(d) - 1; i >= 0; i-- {
		if d[i].key == key {
			t, ok := d[i].value.(token)
			return t, ok
		}
	}
	return "", false
}

// parseDictionary parses a field's value (RFC 9651 §4.2). It returns false if
// the value is too long or has any fault: the RFC demands that no part of such
// a value is used.
func parseDictionary(text string) (d dictionary, ok bool) {
	if len(text) > maxDictionary {
		return nil, false
	}
	p := parser{rest: strings.TrimLeft(text, " ")}
	return p.dictionary()
}

// A parser holds the part of a Structured Field that is not parsed yet. Its
// methods take what they parse from the front of that part: parser.number takes
// a number, and parser.date takes a date. If something else comes first, such a
// method returns false, and parsing ends.
type parser struct{ rest string }

// next returns the next byte without taking it, or 0 at the end. No part of a
// field begins with a zero byte.
func (p *parser) next() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// skip takes c if c is the next byte, and reports whether it did.
func (p *parser) skip(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// span takes the leading bytes that the function accepts.
func (p *parser) span(is func(byte) bool) string {
	n := 0
	for n < len(p.rest) && is(p.rest[n]) {
		n++
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

// dictionary takes a Dictionary (RFC 9651 §4.2.2). Nothing may follow it.
func (p *parser) dictionary() (d dictionary, ok bool) {
	for p.rest != "" {
		m, ok := p.member()
		if !ok {
			return nil, false
		}
		d = append(d, m)
		p.rest = strings.TrimLeft(p.rest, " \t")
		if p.rest == "" {
			break
		}
		if !p.skip(',') {
			return nil, false
		}
		p.rest = strings.TrimLeft(p.rest, " \t")
		if p.rest == "" {
			return nil, false // nothing follows the comma
		}
	}
	return d, true
}

func (p *parser) member() (m member, ok bool) {
	if m.key, ok = p.key(); !ok {
		return m, false
	}
	switch {
	case !p.skip('='):
		m.value = true
	case p.next() == '(':
		m.value, ok = p.innerList()
	default:
		m.value, ok = p.bareItem()
	}
	if ok {
		m.params, ok = p.parameters()
	}
	return m, ok
}

// innerList takes an Inner List (RFC 9651 §4.2.1.2) without its parameters.
func (p *parser) innerList() (list []item, ok bool) {
	if !p.skip('(') {
		return nil, false
	}
	for {
		p.rest = strings.TrimLeft(p.rest, " ")
		if p.skip(')') {
			return list, true
		}
		i, ok := p.item()
		if !ok || p.next() != ' ' && p.next() != ')' {
			return nil, false
		}
		list = append(list, i)
	}
}

// item takes an Item (RFC 9651 §4.2.3).
func (p *parser) item() (i item, ok bool) {
	if i.value, ok = p.bareItem(); ok {
		i.params, ok = p.parameters()
	}
	return i, ok
}

// bareItem takes a Bare Item (RFC 9651 §4.2.3.1).
func (p *parser) bareItem() (value any, ok bool) {
	switch c := p.next(); {
	case c == '-' || isDigit(c):
		return p.number()
	case c == '"':
		return p.string()
	case c == '*' || isAlpha(c):
		return token(p.span(inToken)), true
	case c == ':':
		return p.byteSequence()
	case c == '?':
		return p.boolean()
	case c == '@':
		return p.date()
	case c == '%':
		return p.displayString()
	}
	return nil, false
}

// parameters takes Parameters (RFC 9651 §4.2.3.2).
func (p *parser) parameters() (all []member, ok bool) {
	for p.skip(';') {
		p.rest = strings.TrimLeft(p.rest, " ")
		m := member{value: true}
		if m.key, ok = p.key(); !ok {
			return nil, false
		}
		if p.skip('=') {
			if m.value, ok = p.bareItem(); !ok {
				return nil, false
			}
		}
		all = append(all, m)
	}
	return all, true
}

// key takes a key (RFC 9651 §4.2.3.3).
func (p *parser) key() (string, bool) {
	if c := p.next(); c != '*' && !isLower(c) {
		return "", false
	}
	return p.span(inKey), true
}

// number takes an Integer or a Decimal (RFC 9651 §4.2.4). The value is an int64
// or a decimal.
func (p *parser) number() (value any, ok bool) {
	sign := ""
	if p.skip('-') {
		sign = "-"
	}
	whole := p.span(isDigit)
	if !p.skip('.') {
		if len(whole) < 1 || len(whole) > 15 {
			return nil, false
		}
		n, err := strconv.ParseInt(sign+whole, 10, 64)
		return n, err == nil
	}
	fraction := p.span(isDigit)
	if len(whole) < 1 || len(whole) > 12 || len(fraction) < 1 || len(fraction) > 3 {
		return nil, false
	}
	n, err := strconv.ParseInt(sign+whole+(fraction + "00")[:3], 10, 64)
	return decimal(n), err == nil
}

// string takes a String (RFC 9651 §4.2.5).
func (p *parser) string() (value any, ok bool) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return b.String(), true
		case c == '\\':
			i++
			if i == len(p.rest) || p.rest[i] != '"' && p.rest[i] != '\\' {
				return nil, false
			}
			b.WriteByte(p.rest[i])
		case !isPrintable(c):
			return nil, false
		default:
			b.WriteByte(c)
		}
	}
	return nil, false
}

// byteSequence takes a Byte Sequence (RFC 9651 §4.2.7). The RFC recommends to
// accept it without padding. Wrong padding is an error.
func (p *parser) byteSequence() (value any, ok bool) {
	text, rest, closed := strings.Cut(p.rest[1:], ":")
	if !closed || strings.ContainsAny(text, "\r\n") { // the base64 decoder would skip these bytes
		return nil, false
	}
	coding := base64.StdEncoding
	if !strings.HasSuffix(text, "=") {
		coding = base64.RawStdEncoding
	}
	decoded, err := coding.DecodeString(text)
	p.rest = rest
	return decoded, err == nil
}

// boolean takes a Boolean (RFC 9651 §4.2.8).
func (p *parser) boolean() (value any, ok bool) {
	p.skip('?')
	if p.skip('1') {
		return true, true
	}
	return false, p.skip('0')
}

// date takes a Date (RFC 9651 §4.2.9).
func (p *parser) date() (value any, ok bool) {
	p.skip('@')
	value, _ = p.number()
	seconds, ok := value.(int64)
	return date(seconds), ok
}

// displayString takes a Display String (RFC 9651 §4.2.10).
func (p *parser) displayString() (value any, ok bool) {
	text, ok := strings.CutPrefix(p.rest, `%"`)
	if !ok {
		return nil, false
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			p.rest = text[i+1:]
			return displayString(b.String()), utf8.ValidString(b.String())
		case c == '%':
			if i+2 >= len(text) || !isLowerHex(text[i+1]) || !isLowerHex(text[i+2]) {
				return nil, false
			}
			n, _ := strconv.ParseUint(text[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
		case !isPrintable(c):
			return nil, false
		default:
			b.WriteByte(c)
		}
	}
	return nil, false
}

func isLower(c byte) bool     { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool     { return isLower(c) || 'A' <= c && c <= 'Z' }
func isLowerHex(c byte) bool  { return isDigit(c) || 'a' <= c && c <= 'f' }
func isPrintable(c byte) bool { return ' ' <= c && c <= '~' }

// inKey reports whether a key may have c after its first byte.
func inKey(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 }

// inToken reports whether a token may have c after its first byte.
func inToken(c byte) bool {
	return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}
