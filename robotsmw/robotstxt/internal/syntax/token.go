package syntax

import "strings"

// A Token is a product token, which identifies a robot in user-agent lines.
type Token struct {
	name   string
	isWide bool // whether the name contains a digit or a dot
}

// Wildcard is the token "*", which applies to robots that no group names.
var Wildcard = Token{name: "*"}

// NewToken returns the Token with the given name.
func NewToken(name string) Token { return Token{name, strings.ContainsAny(name, "0123456789.")} }

// IsIn reports whether the value of a user-agent line names the token, in any
// case.
//
// According to RFC 9309 §2.2.1, a product token consists of letters, "_" and
// "-". The token in a line therefore ends before the first other byte, so that
// "ExampleBot/1.2" names "ExampleBot". Because there are robots such as MJ12bot
// and archive.org_bot, the token in the line may also contain digits and dots
// if t contains one. A line names "*" if its value is "*", or begins with "*"
// and white space.
func (t Token) IsIn(value string) bool {
	n := len(t.name)
	if len(value) < n || n == 0 {
		return false
	}
	if t == Wildcard {
		return value[0] == '*' && (len(value) == 1 || isSpace(value[1]))
	}
	if len(value) > n && t.mayContain(value[n]) {
		return false // the token in the line is longer
	}
	for i := range n {
		if !t.mayContain(value[i]) {
			return false
		}
	}
	return strings.EqualFold(value[:n], t.name)
}

// mayContain reports whether c may be part of a token that is compared with t.
func (t Token) mayContain(c byte) bool { return isNameByte(c) || t.isWide && isDigitOrDot(c) }

// IsTokenByte reports whether a byte may be part of a product token. In
// contrast to RFC 9309, this includes digits and dots.
func IsTokenByte(c byte) bool { return isNameByte(c) || isDigitOrDot(c) }

// isNameByte reports whether RFC 9309 §2.2 permits a byte in a product token.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
}

func isDigitOrDot(c byte) bool { return '0' <= c && c <= '9' || c == '.' }
