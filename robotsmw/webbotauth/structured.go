package webbotauth

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file parses the Structured Fields (RFC 9651) that signatures use:
// dictionaries whose members are items or lists of items. A bare item is kept
// in serialized form, so a signature base is made by joining strings.

type member struct {
	key    string
	isList bool
	list   []item // the value, if isList
	item          // the value, if not isList; for a list, only the params are used
}

// An item is a bare item in serialized form, with its parameters.
type item struct {
	bare   string
	params []param
}

// A param is a parameter. Its value is a bare item in serialized form.
type param struct{ key, value string }

// isTrue is the Boolean true, serialized. A key that is written without a value
// has this value.
const isTrue = "?1"

// fieldValue returns the value of a field by RFC 9421 §2.1: its lines, trimmed
// and joined with ", ".
func fieldValue(h http.Header, name string) string {
	lines := slices.Clone(h.Values(name))
	for i, line := range lines {
		lines[i] = strings.Trim(line, " \t")
	}
	return strings.Join(lines, ", ")
}

func find(members []member, key string) *member {
	for i := range members {
		if members[i].key == key {
			return &members[i]
		}
	}
	return nil
}

func (it item) param(key string) (value string, ok bool) {
	for _, p := range it.params {
		if p.key == key {
			return p.value, true
		}
	}
	return "", false
}

// String serializes an item (RFC 9651 §4.1.3).
func (it item) String() string { return it.bare + paramsText(it.params) }

// text serializes the member's value.
func (m member) text() string {
	if !m.isList {
		return m.item.String()
	}
	var b strings.Builder
	b.WriteByte('(')
	for i, it := range m.list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(it.String())
	}
	b.WriteByte(')')
	b.WriteString(paramsText(m.params))
	return b.String()
}

func paramsText(params []param) string {
	var b strings.Builder
	for _, p := range params {
		b.WriteByte(';')
		b.WriteString(p.key)
		if p.value != isTrue {
			b.WriteByte('=')
			b.WriteString(p.value)
		}
	}
	return b.String()
}

// stringOf returns the text of a serialized String.
func stringOf(bare string) (text string, ok bool) {
	if len(bare) < 2 || bare[0] != '"' {
		return "", false
	}
	bare = bare[1 : len(bare)-1]
	if !strings.Contains(bare, `\`) {
		return bare, true
	}
	var b strings.Builder
	for i := 0; i < len(bare); i++ {
		if bare[i] == '\\' {
			i++
		}
		b.WriteByte(bare[i])
	}
	return b.String(), true
}

// bytesOf returns the bytes of a serialized Byte Sequence.
func bytesOf(bare string) (data []byte, ok bool) {
	if len(bare) < 2 || bare[0] != ':' {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(bare[1 : len(bare)-1])
	return data, err == nil
}

var errStructured = errors.New("no dictionary of structured fields")

// parseDictionary parses a dictionary (RFC 9651 §4.2.2). An empty text is a
// dictionary without members.
func parseDictionary(text string) (members []member, err error) {
	r := reader{s: strings.Trim(text, " ")}
	for r.s != "" && !r.bad {
		m := r.member()
		if old := find(members, m.key); old != nil {
			*old = m
		} else {
			members = append(members, m)
		}
		r.space()
		if r.s == "" {
			break
		}
		if !r.skip(',') {
			return nil, errStructured
		}
		r.space()
		if r.s == "" {
			return nil, errStructured // the text ends with a comma
		}
	}
	if r.bad {
		return nil, errStructured
	}
	return members, nil
}

// A reader holds the text that is not parsed yet. Each method takes something
// from the beginning of s. A method that finds a syntax error sets r.bad.
type reader struct {
	s   string
	bad bool
}

func (r *reader) fail() string {
	r.bad = true
	return ""
}

func (r *reader) space() { r.s = strings.TrimLeft(r.s, " \t") }

func (r *reader) skip(c byte) bool {
	if r.s == "" || r.s[0] != c {
		return false
	}
	r.s = r.s[1:]
	return true
}

// The method "while" takes the leading bytes that the given function accepts.
func (r *reader) while(kind func(byte) bool) string {
	n := 0
	for n < len(r.s) && kind(r.s[n]) {
		n++
	}
	taken := r.s[:n]
	r.s = r.s[n:]
	return taken
}

func (r *reader) member() member {
	m := member{key: r.key()}
	switch {
	case !r.skip('='):
		m.bare = isTrue
		m.params = r.params()
	case r.skip('('):
		m.isList = true
		m.list = r.innerList()
		m.params = r.params()
	default:
		m.item = r.item()
	}
	return m
}

func (r *reader) innerList() []item {
	var list []item
	for !r.bad {
		r.s = strings.TrimLeft(r.s, " ")
		if r.skip(')') {
			return list
		}
		list = append(list, r.item())
		if r.s == "" || r.s[0] != ' ' && r.s[0] != ')' {
			r.fail()
		}
	}
	return nil
}

func (r *reader) item() item {
	it := item{bare: r.bareItem()}
	it.params = r.params()
	return it
}

func (r *reader) params() []param {
	var params []param
	for !r.bad && r.skip(';') {
		r.s = strings.TrimLeft(r.s, " ")
		p := param{r.key(), isTrue}
		if r.skip('=') {
			p.value = r.bareItem()
		}
		if i := slices.IndexFunc(params, func(old param) bool { return old.key == p.key }); i >= 0 {
			params[i] = p
		} else {
			params = append(params, p)
		}
	}
	return params
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }

func (r *reader) key() string {
	if r.s == "" || !isLower(r.s[0]) && r.s[0] != '*' {
		return r.fail()
	}
	return r.while(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
}

func (r *reader) bareItem() string {
	if r.s == "" {
		return r.fail()
	}
	switch c := r.s[0]; {
	case c == '-' || isDigit(c):
		return r.number()
	case c == '"':
		return r.quoted()
	case c == '*' || isAlpha(c):
		return r.while(func(c byte) bool {
			return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		})
	case c == ':':
		return r.byteSequence()
	case c == '?':
		if len(r.s) < 2 || r.s[1] != '0' && r.s[1] != '1' {
			return r.fail()
		}
		b := r.s[:2]
		r.s = r.s[2:]
		return b
	case c == '@':
		r.s = r.s[1:]
		n := r.number()
		if strings.Contains(n, ".") {
			return r.fail()
		}
		return "@" + n
	case c == '%':
		return r.displayString()
	}
	return r.fail()
}

// number takes an Integer of up to 15 digits, or a Decimal with up to 12 digits
// before the point and up to three after it. It returns the number without
// superfluous zeros.
func (r *reader) number() string {
	minus := r.skip('-')
	whole := r.while(isDigit)
	if whole == "" || len(whole) > 15 {
		return r.fail()
	}
	fraction := ""
	if r.skip('.') {
		fraction = r.while(isDigit)
		if fraction == "" || len(fraction) > 3 || len(whole) > 12 {
			return r.fail()
		}
		fraction = "." + fraction[:1] + strings.TrimRight(fraction[1:], "0")
	}
	whole = strings.TrimLeft(whole[:len(whole)-1], "0") + whole[len(whole)-1:]
	if n := whole + fraction; minus && n != "0" {
		return "-" + n
	} else {
		return n
	}
}

// quoted takes a String.
func (r *reader) quoted() string {
	for i := 1; i < len(r.s); i++ {
		switch c := r.s[i]; {
		case c == '"':
			s := r.s[:i+1]
			r.s = r.s[i+1:]
			return s
		case c == '\\':
			i++
			if i == len(r.s) || r.s[i] != '"' && r.s[i] != '\\' {
				return r.fail()
			}
		case c < ' ' || c > '~':
			return r.fail()
		}
	}
	return r.fail()
}

func (r *reader) byteSequence() string {
	text, rest, ok := strings.Cut(r.s[1:], ":")
	if !ok || strings.ContainsAny(text, "\r\n") { // the base64 decoder would skip these bytes
		return r.fail()
	}
	// The padding may be missing (RFC 9651 §4.2.7).
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return r.fail()
	}
	r.s = rest
	return ":" + base64.StdEncoding.EncodeToString(data) + ":"
}

// displayString takes a Display String, such as %"f%c3%bc".
func (r *reader) displayString() string {
	text, rest, ok := strings.Cut(strings.TrimPrefix(r.s[1:], `"`), `"`)
	if !ok || !strings.HasPrefix(r.s, `%"`) {
		return r.fail()
	}
	var decoded []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ' || c > '~':
			return r.fail()
		case c == '%':
			if i+2 >= len(text) || text[i+1:i+3] != strings.ToLower(text[i+1:i+3]) {
				return r.fail()
			}
			b, err := hex.DecodeString(text[i+1 : i+3])
			if err != nil {
				return r.fail()
			}
			decoded = append(decoded, b[0])
			i += 2
		default:
			decoded = append(decoded, c)
		}
	}
	if !utf8.Valid(decoded) {
		return r.fail()
	}
	r.s = rest
	return `%"` + displayText(decoded) + `"`
}

// displayText escapes the bytes that a Display String must escape (RFC 9651
// §4.1.11).
func displayText(decoded []byte) string {
	var b strings.Builder
	for _, c := range decoded {
		if c < ' ' || c > '~' || c == '%' || c == '"' {
			b.WriteByte('%')
			b.WriteString(hex.EncodeToString([]byte{c}))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
