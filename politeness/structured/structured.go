// Package structured reads Structured Fields (RFC 9651), such as RateLimit,
// Content-Usage and Signature-Input. It is the only reader of them in this
// module, and imports the standard library alone.
//
// A value that breaks a rule of RFC 9651 is refused whole (§4.2). So is one
// that is longer than its reader allows. The time to read a field grows with
// its length, not faster.
package structured

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Member is a member of a Dictionary or List, an item of an inner list, or a
// parameter.
type Member struct {
	Key string // the key in a Dictionary, or the name of a parameter

	// Value is a bare item as RFC 9651 §4.1 serializes it: 10, 1.5, "a\"b",
	// token, :YQ==:, ?1, @0 or %"f%c3%bc". So quotes tell a String from a
	// Token. A key without a value has ?1. Empty means that the member is an
	// inner list.
	Value string

	List   []Member // the items of an inner list
	Params []Member // in their order; each name once, with its last value
}

// Param returns the value of a parameter. ok is false if there is none.
func (m Member) Param(name string) (value string, ok bool) {
	for _, p := range m.Params {
		if p.Key == name {
			return p.Value, true
		}
	}
	return "", false
}

// String serializes the value with its parameters, without the key (RFC 9651
// §4.1.1.1, §4.1.3).
func (m Member) String() string {
	var b strings.Builder
	m.write(&b)
	return b.String()
}

func (m Member) write(b *strings.Builder) {
	b.WriteString(m.Value)
	if m.Value == "" {
		b.WriteByte('(')
		for i, item := range m.List {
			if i > 0 {
				b.WriteByte(' ')
			}
			item.write(b)
		}
		b.WriteByte(')')
	}
	for _, p := range m.Params {
		b.WriteString(";" + p.Key)
		if p.Value != isTrue {
			b.WriteString("=" + p.Value)
		}
	}
}

// isTrue is the Boolean true.
const isTrue = "?1"

// Dictionary reads the lines of a field that is a Dictionary (RFC 9651 §3.2).
// All lines together may have limit bytes, with 2 for each line's end. A
// repeated key stays at its first place, with its last value. Without any line,
// the Dictionary has no members. If any part is malformed, ok is false and
// there are no members.
func Dictionary(lines []string, limit int) (members []Member, ok bool) {
	members, ok = read(lines, limit, func(r *reader) Member {
		m := Member{Key: r.key(), Value: isTrue}
		if r.skip('=') {
			m.Value, m.List = r.value()
		}
		m.Params = r.params()
		return m
	})
	return lastOfEach(members), ok
}

// List is like Dictionary, for a field that is a List (RFC 9651 §3.1). Its
// members have no keys.
func List(lines []string, limit int) (members []Member, ok bool) {
	return read(lines, limit, func(r *reader) (m Member) {
		m.Value, m.List = r.value()
		m.Params = r.params()
		return m
	})
}

// read reads members with commas between them (RFC 9651 §4.2.1, §4.2.2).
func read(lines []string, limit int, member func(*reader) Member) (members []Member, ok bool) {
	for _, line := range lines {
		if limit -= len(line); limit < 0 {
			return nil, false
		}
		limit -= len(", ")
	}
	r := reader{rest: strings.Trim(strings.Join(lines, ", "), " ")}
	for r.rest != "" {
		members = append(members, member(&r))
		r.skipSpace()
		if r.rest == "" {
			break
		}
		if !r.skip(',') {
			return nil, false
		}
		if r.skipSpace(); r.rest == "" {
			return nil, false // the value ends with a comma
		}
	}
	if r.bad {
		return nil, false
	}
	return members, true
}

// lastOfEach takes out the repeated keys: each stays at its first place, with
// its last value.
func lastOfEach(members []Member) []Member {
	if len(members) < 2 {
		return members
	}
	at, kept := make(map[string]int, len(members)), members[:0]
	for _, m := range members {
		if i, repeated := at[m.Key]; repeated {
			kept[i] = m
			continue
		}
		at[m.Key] = len(kept)
		kept = append(kept, m)
	}
	return kept
}

// A reader holds the text that is not read yet. Each method takes something
// from its beginning. A method that finds a fault sets bad, and leaves nothing
// to read.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) fail() string {
	r.rest, r.bad = "", true
	return ""
}

func (r *reader) skip(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *reader) skipSpace() { r.rest = strings.TrimLeft(r.rest, " \t") }

// take takes the first n bytes.
func (r *reader) take(n int) string {
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// span takes the leading bytes that the function accepts.
func (r *reader) span(is func(byte) bool) string {
	n := 0
	for n < len(r.rest) && is(r.rest[n]) {
		n++
	}
	return r.take(n)
}

// value takes an item or an inner list, without its parameters (RFC 9651
// §4.2.1.2).
func (r *reader) value() (bare string, list []Member) {
	if !r.skip('(') {
		return r.bareItem(), nil
	}
	for {
		r.rest = strings.TrimLeft(r.rest, " ")
		if r.skip(')') {
			return "", list
		}
		item := Member{Value: r.bareItem(), Params: r.params()}
		if r.rest == "" || r.rest[0] != ' ' && r.rest[0] != ')' {
			return r.fail(), nil
		}
		list = append(list, item)
	}
}

// params takes parameters (RFC 9651 §4.2.3.2).
func (r *reader) params() (params []Member) {
	for r.skip(';') {
		r.rest = strings.TrimLeft(r.rest, " ")
		p := Member{Key: r.key(), Value: isTrue}
		if r.skip('=') {
			p.Value = r.bareItem()
		}
		params = append(params, p)
	}
	return lastOfEach(params)
}

// key takes a key (RFC 9651 §4.2.3.3).
func (r *reader) key() string {
	if r.rest == "" || !isLower(r.rest[0]) && r.rest[0] != '*' {
		return r.fail()
	}
	return r.span(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
}

// bareItem takes a bare item (RFC 9651 §4.2.3.1), and serializes it.
func (r *reader) bareItem() string {
	if r.rest == "" {
		return r.fail()
	}
	switch c := r.rest[0]; {
	case c == '-' || isDigit(c):
		return r.number()
	case c == '"':
		return r.quoted()
	case c == '*' || isAlpha(c):
		return r.span(func(c byte) bool {
			return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		})
	case c == ':':
		return r.byteSequence()
	case strings.HasPrefix(r.rest, "?0"), strings.HasPrefix(r.rest, "?1"):
		return r.take(len(isTrue))
	case r.skip('@'):
		n := r.number()
		if strings.Contains(n, ".") {
			return r.fail()
		}
		return "@" + n
	case strings.HasPrefix(r.rest, `%"`):
		return r.displayString()
	}
	return r.fail()
}

// number takes an Integer or a Decimal (RFC 9651 §4.2.4), without superfluous
// zeros.
func (r *reader) number() string {
	sign := ""
	if r.skip('-') {
		sign = "-"
	}
	whole, fraction := r.span(isDigit), ""
	if whole == "" || len(whole) > 15 {
		return r.fail()
	}
	if r.skip('.') {
		fraction = r.span(isDigit)
		if fraction == "" || len(fraction) > 3 || len(whole) > 12 {
			return r.fail()
		}
		fraction = "." + fraction[:1] + strings.TrimRight(fraction[1:], "0")
	}
	last := len(whole) - 1
	n := strings.TrimLeft(whole[:last], "0") + whole[last:] + fraction
	if n == "0" {
		return n // there is no -0
	}
	return sign + n
}

// quoted takes a String (RFC 9651 §4.2.5).
func (r *reader) quoted() string {
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			return r.take(i + 1)
		case c == '\\':
			if i++; i == len(r.rest) || r.rest[i] != '"' && r.rest[i] != '\\' {
				return r.fail()
			}
		case !isPrintable(c):
			return r.fail()
		}
	}
	return r.fail()
}

// byteSequence takes a Byte Sequence (RFC 9651 §4.2.7). It may lack its
// padding, but wrong padding is a fault.
func (r *reader) byteSequence() string {
	text, rest, closed := strings.Cut(r.rest[1:], ":")
	coding := base64.StdEncoding
	if !strings.HasSuffix(text, "=") {
		coding = base64.RawStdEncoding
	}
	decoded, err := coding.DecodeString(text)
	if !closed || err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips these bytes
		return r.fail()
	}
	r.rest = rest
	return ":" + base64.StdEncoding.EncodeToString(decoded) + ":"
}

// displayString takes a Display String (RFC 9651 §4.2.10). Only what must be
// escaped stays so (§4.1.11).
func (r *reader) displayString() string {
	text, rest, closed := strings.Cut(r.rest[2:], `"`)
	var decoded, written []byte
	for i := 0; i < len(text); i++ {
		c, escaped := text[i], false
		if c == '%' && i+2 < len(text) && isLowerHex(text[i+1]) && isLowerHex(text[i+2]) {
			n, _ := strconv.ParseUint(text[i+1:i+3], 16, 8)
			c, escaped = byte(n), true
			i += 2
		}
		must := c == '%' || c == '"' || !isPrintable(c)
		if must && !escaped {
			return r.fail()
		}
		decoded = append(decoded, c)
		if must {
			written = append(written, text[i-2:i+1]...)
		} else {
			written = append(written, c)
		}
	}
	if !closed || !utf8.Valid(decoded) {
		return r.fail()
	}
	r.rest = rest
	return `%"` + string(written) + `"`
}

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isLower(c byte) bool     { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool     { return isLower(c | 0x20) }
func isLowerHex(c byte) bool  { return isDigit(c) || 'a' <= c && c <= 'f' }
func isPrintable(c byte) bool { return ' ' <= c && c <= '~' }
