package structured

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A parser consumes a text from its beginning. The methods that parse an
// element return it in serialized form. If the text is invalid, they call fail.
type parser struct {
	rest   string // the text that has not been parsed
	failed bool
}

// fail marks the text as invalid and discards the rest, so that parsing ends.
// It returns "" for the convenience of its callers.
func (p *parser) fail() string {
	p.rest = ""
	p.failed = true
	return ""
}

// skip consumes c if the rest begins with it, and reports whether it does.
func (p *parser) skip(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t") }

// take consumes n bytes.
func (p *parser) take(n int) string {
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

// takeWhile consumes and returns the longest prefix whose bytes all satisfy the
// function is.
func (p *parser) takeWhile(is func(byte) bool) string {
	n := 0
	for n < len(p.rest) && is(p.rest[n]) {
		n++
	}
	return p.take(n)
}

// value parses an item or an inner list, without its parameters (RFC 9651
// §4.2.1.2).
func (p *parser) value() (bare string, list []Member) {
	if !p.skip('(') {
		return p.bareItem(), nil
	}
	for {
		p.rest = strings.TrimLeft(p.rest, " ")
		if p.skip(')') {
			return "", list
		}
		item := Member{Value: p.bareItem(), Params: p.params()}
		endsItem := strings.HasPrefix(p.rest, " ") || strings.HasPrefix(p.rest, ")")
		if !endsItem {
			return p.fail(), nil
		}
		list = append(list, item)
	}
}

// params parses parameters (RFC 9651 §4.2.3.2).
func (p *parser) params() []Member {
	var params []Member
	for p.skip(';') {
		p.rest = strings.TrimLeft(p.rest, " ")
		param := Member{Key: p.key(), Value: boolTrue}
		if p.skip('=') {
			param.Value = p.bareItem()
		}
		params = append(params, param)
	}
	return removeDuplicates(params)
}

// key parses a key (RFC 9651 §4.2.3.3).
func (p *parser) key() string {
	if p.rest == "" {
		return p.fail()
	}
	if c := p.rest[0]; !isLower(c) && c != '*' {
		return p.fail()
	}
	return p.takeWhile(isKeyByte)
}

// bareItem parses a bare item (RFC 9651 §4.2.3.1).
func (p *parser) bareItem() string {
	if p.rest == "" {
		return p.fail()
	}
	switch c := p.rest[0]; c {
	case '"':
		return p.quotedString()
	case ':':
		return p.byteSequence()
	case '?':
		return p.boolean()
	case '@':
		return p.date()
	case '%':
		return p.displayString()
	case '*':
		return p.takeWhile(isTokenByte)
	default:
		if isAlpha(c) {
			return p.takeWhile(isTokenByte)
		}
		return p.number() // fails unless c is a digit or "-"
	}
}

// boolean parses a Boolean (RFC 9651 §4.2.8).
func (p *parser) boolean() string {
	if !strings.HasPrefix(p.rest, "?0") && !strings.HasPrefix(p.rest, "?1") {
		return p.fail()
	}
	return p.take(len(boolTrue))
}

// date parses a Date (RFC 9651 §4.2.9).
func (p *parser) date() string {
	p.skip('@')
	n := p.number()
	if strings.Contains(n, ".") {
		return p.fail()
	}
	return "@" + n
}

// number parses an Integer or a Decimal (RFC 9651 §4.2.4), and removes
// redundant zeros.
func (p *parser) number() string {
	sign := ""
	if p.skip('-') {
		sign = "-"
	}
	whole := p.takeWhile(isDigit)
	fraction := ""
	if whole == "" || len(whole) > 15 {
		return p.fail()
	}
	if p.skip('.') {
		fraction = p.takeWhile(isDigit)
		if fraction == "" || len(fraction) > 3 || len(whole) > 12 {
			return p.fail()
		}
		fraction = "." + fraction[:1] + strings.TrimRight(fraction[1:], "0")
	}
	lastDigit := len(whole) - 1
	n := strings.TrimLeft(whole[:lastDigit], "0") + whole[lastDigit:] + fraction
	if n == "0" {
		return n // without the sign of -0
	}
	return sign + n
}

// quotedString parses a String (RFC 9651 §4.2.5).
func (p *parser) quotedString() string {
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			return p.take(i + 1)
		case c == '\\':
			if !beginsEscape(p.rest[i:]) {
				return p.fail()
			}
			i++
		case !isPrintable(c):
			return p.fail()
		}
	}
	return p.fail()
}

// beginsEscape reports whether s begins with an escaped quote or backslash.
func beginsEscape(s string) bool {
	return strings.HasPrefix(s, `\"`) || strings.HasPrefix(s, `\\`)
}

// byteSequence parses a Byte Sequence (RFC 9651 §4.2.7). The padding may be
// missing, but must not be wrong.
func (p *parser) byteSequence() string {
	text, rest, closed := strings.Cut(p.rest[1:], ":")
	if !closed || strings.ContainsAny(text, "\r\n") { // the decoder would ignore these bytes
		return p.fail()
	}
	encoding := base64.StdEncoding
	if !strings.HasSuffix(text, "=") {
		encoding = base64.RawStdEncoding
	}
	decoded, err := encoding.DecodeString(text)
	if err != nil {
		return p.fail()
	}
	p.rest = rest
	return ":" + base64.StdEncoding.EncodeToString(decoded) + ":"
}

// displayString parses a Display String (RFC 9651 §4.2.10). Bytes that need not
// be percent-encoded are decoded (§4.1.11).
func (p *parser) displayString() string {
	content, ok := strings.CutPrefix(p.rest, `%"`)
	if !ok {
		return p.fail()
	}
	text, rest, closed := strings.Cut(content, `"`)
	if !closed {
		return p.fail()
	}
	var decoded, serialized []byte
	for i := 0; i < len(text); i++ {
		raw := text[i : i+1]
		c, isEncoded := decodePercent(text[i:])
		if isEncoded {
			raw = text[i : i+len("%00")]
			i += len("%00") - 1
		}
		mustEncode := c == '%' || c == '"' || !isPrintable(c)
		if mustEncode && !isEncoded {
			return p.fail()
		}
		decoded = append(decoded, c)
		if mustEncode {
			serialized = append(serialized, raw...)
		} else {
			serialized = append(serialized, c)
		}
	}
	if !utf8.Valid(decoded) {
		return p.fail()
	}
	p.rest = rest
	return `%"` + string(serialized) + `"`
}

// decodePercent decodes the percent-encoded byte at the beginning of s. If
// there is none, it returns the first byte of s.
func decodePercent(s string) (c byte, isEncoded bool) {
	if len(s) < len("%00") || s[0] != '%' {
		return s[0], false
	}
	if !isLowerHex(s[1]) || !isLowerHex(s[2]) {
		return s[0], false
	}
	n, _ := strconv.ParseUint(s[1:3], 16, 8)
	return byte(n), true
}

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isLower(c byte) bool     { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool     { return isLower(c | 0x20) }
func isLowerHex(c byte) bool  { return isDigit(c) || 'a' <= c && c <= 'f' }
func isPrintable(c byte) bool { return ' ' <= c && c <= '~' }

func isKeyByte(c byte) bool {
	return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0
}

func isTokenByte(c byte) bool {
	return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}
