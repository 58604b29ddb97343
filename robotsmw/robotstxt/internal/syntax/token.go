package syntax

import "strings"

// A Token is a robot's name in user-agent lines.
type Token struct {
	name string
	wide bool // whether the name has a digit or a dot
}

// Everyone is the token "*", for all robots that have no group of their own.
var Everyone = Token{name: "*"}

// NewToken returns the Token for a robot's name.
func NewToken(name string) Token { return Token{name, strings.ContainsAny(name, "0123456789.")} }

// IsIn reports whether the value of a user-agent line names the token.
//
// RFC 9309 §2.2.1 compares product tokens ignoring case, and a token has only
// letters, "_" and "-". So the token in a line ends before the first byte that
// is none of these: "ExampleBot/1.2" names "ExampleBot". But some robots are
// called MJ12bot or archive.org_bot. So if t has a digit or a dot, the token in
// the line may have digits and dots too. A line names "*" if its value is "*",
// or begins with "*" and white space.
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

// has reports whether c may be part of t or of a token that is compared with t.
func (t Token) has(c byte) bool { return isLetter(c) || t.wide && isDigitOrDot(c) }

// IsOfToken reports whether a byte may be part of a product token.
func IsOfToken(c byte) bool { return isLetter(c) || isDigitOrDot(c) }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
}

func isDigitOrDot(c byte) bool { return '0' <= c && c <= '9' || c == '.' }
