package syntax

import "strings"

// A Token is what a robot is called in user-agent lines.
type Token struct {
	name string
	wide bool // whether it has digits or dots
}

// Everyone is what stands for every robot that has no group of its own.
var Everyone = Token{name: "*"}

// NewToken returns the token of a robot that goes by a name.
func NewToken(name string) Token { return Token{name, strings.ContainsAny(name, "0123456789.")} }

// IsIn reports whether the value of a user-agent line names the token.
//
// RFC 9309 §2.2.1 compares product tokens without regard to case, and a token
// has letters, "_" and "-" only. So the token of a line is what its value
// begins with that is made of these, and "ExampleBot/1.2" is "ExampleBot". But
// robots called MJ12bot and archive.org_bot exist: where the token that we were
// given has a digit or a dot, the line's may have them too. For "*", a line
// says just that, or goes on after white space.
func (t Token) IsIn(value string) bool {
	n := len(t.name)
	if len(value) < n || n == 0 {
		return false
	}
	if t == Everyone {
		return value[0] == '*' && (len(value) == 1 || isSpace(value[1]))
	}
	if len(value) > n && t.has(value[n]) {
		return false
	}
	for i := range n {
		if !t.has(value[i]) {
			return false
		}
	}
	return strings.EqualFold(value[:n], t.name)
}

// isInAs is IsIn as a dialect has it: Google knows no wide tokens, and in 1996
// the value was the whole name.
func (t Token) isInAs(value string, dialect Dialect) bool {
	switch dialect {
	case Google:
		t.wide = false
	case Koster1996:
		return strings.EqualFold(value, t.name)
	}
	return t.IsIn(value)
}

// has reports whether a byte may be part of the token.
func (t Token) has(c byte) bool { return isLetter(c) || t.wide && isDigitOrDot(c) }

// IsOfToken reports whether a byte may be part of some token.
func IsOfToken(c byte) bool { return isLetter(c) || isDigitOrDot(c) }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
}

func isDigitOrDot(c byte) bool { return '0' <= c && c <= '9' || c == '.' }
