package preference

import "strings"

// dictionaryToken reads a Dictionary of Structured Fields (RFC 9651 §4.2.2) and returns the value of a key, if that is a
// token. A text that is no Dictionary has no values at all, as the RFC demands.
func dictionaryToken(text, key string) (token string, ok bool) {
	d := dictionary{s: strings.Trim(text, " ")}
	for d.s != "" && !d.bad {
		name := d.key()
		value, isToken := "", false
		if d.skip('=') {
			value, isToken = d.member()
		} else {
			d.parameters() // a Boolean
		}
		if name == key {
			token, ok = value, isToken // of several the last
		}
		d.space()
		if d.s == "" {
			break
		}
		if !d.skip(',') {
			return "", false
		}
		d.space()
		if d.s == "" {
			return "", false // a comma that nothing follows
		}
	}
	if d.bad {
		return "", false
	}
	return token, ok
}

// A dictionary is what is left to read of one. Each method takes something from the beginning of s, or sets bad.
type dictionary struct {
	s   string
	bad bool
}

func (d *dictionary) space() { d.s = strings.TrimLeft(d.s, " \t") }

func (d *dictionary) skip(c byte) bool {
	if d.s == "" || d.s[0] != c {
		return false
	}
	d.s = d.s[1:]
	return true
}

// take takes a first octet and those that follow it.
func (d *dictionary) take(first, rest func(byte) bool) string {
	if d.s == "" || !first(d.s[0]) {
		d.bad = true
		return ""
	}
	n := 1
	for n < len(d.s) && rest(d.s[n]) {
		n++
	}
	taken := d.s[:n]
	d.s = d.s[n:]
	return taken
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }

func (d *dictionary) key() string {
	return d.take(func(c byte) bool { return isLower(c) || c == '*' },
		func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
}

// member takes an item or an inner list, with its parameters.
func (d *dictionary) member() (value string, isToken bool) {
	if d.skip('(') {
		for !d.bad {
			d.s = strings.TrimLeft(d.s, " ")
			if d.skip(')') {
				d.parameters()
				return "", false
			}
			d.item()
			d.parameters()
			if d.s == "" || d.s[0] != ' ' && d.s[0] != ')' {
				d.bad = true
			}
		}
		return "", false
	}
	value, isToken = d.item()
	d.parameters()
	return value, isToken
}

func (d *dictionary) parameters() {
	for !d.bad && d.skip(';') {
		d.s = strings.TrimLeft(d.s, " ")
		d.key()
		if d.skip('=') {
			d.item()
		}
	}
}

// item takes a bare item.
func (d *dictionary) item() (value string, isToken bool) {
	if d.s == "" {
		d.bad = true
		return "", false
	}
	switch c := d.s[0]; {
	case isAlpha(c), c == '*':
		return d.take(func(byte) bool { return true }, func(c byte) bool {
			return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		}), true
	case c == '"':
		d.quoted()
	case c == '?':
		d.bad = len(d.s) < 2 || d.s[1] != '0' && d.s[1] != '1'
		d.s = d.s[min(2, len(d.s)):]
	case c == ':': // octets in base 64
		_, after, closed := strings.Cut(d.s[1:], ":")
		d.s, d.bad = after, !closed
	case c == '@': // a date
		d.s = d.s[1:]
		d.number()
	case c == '%': // a text in Unicode
		d.s = d.s[1:]
		if d.s == "" || d.s[0] != '"' {
			d.bad = true
			return "", false
		}
		d.quoted()
	default:
		d.number()
	}
	return "", false
}

func (d *dictionary) quoted() {
	for i := 1; i < len(d.s); i++ {
		switch d.s[i] {
		case '\\':
			i++
		case '"':
			d.s = d.s[i+1:]
			return
		}
	}
	d.bad = true
}

func (d *dictionary) number() {
	d.skip('-')
	d.take(isDigit, isDigit)
	if !d.bad && d.skip('.') {
		d.take(isDigit, isDigit)
	}
}
