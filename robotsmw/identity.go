package robotsmw

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// IdentityError is the error of RoundTrip for a request whose own User-Agent
// contains none of the crawler's product tokens. It is returned only with
// Options.StrictIdentity.
type IdentityError struct {
	userAgent string   // of the request
	tokens    []string // of the crawler
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("robotsmw: the request's User-Agent %q names none of the product tokens %q: "+
		"robots.txt would be read for another crawler; drop the header, or add its token to Options.ProductTokens",
		e.userAgent, e.tokens)
}

// headerUserAgent returns the User-Agent in a request's header, or "" if there
// is none. It also reports whether the header has exactly one User-Agent and no
// odd name (see isOdd), so that the header can be sent unchanged.
// http.Header.Set never creates an odd name, but a caller can assign one in the
// map, and net/http would send it.
func headerUserAgent(h http.Header) (agent string, plain bool) {
	lines := h["User-Agent"] // Header.Get would first check the name
	if len(lines) > 0 {
		agent = lines[0]
	}
	plain = agent != "" && len(lines) == 1
	if plain && len(h) == 1 {
		return agent, true
	}
	odd := ""
	for name, lines := range h {
		if !isOdd(name) {
			continue
		}
		plain = false
		// If there are several odd names, the first in the alphabet is used,
		// because a map has no fixed order.
		hasAgent := strings.EqualFold(name, "User-Agent") && len(lines) > 0 && lines[0] != ""
		if hasAgent && (odd == "" || name < odd) {
			odd = name
		}
	}
	if agent == "" && odd != "" {
		agent = h[odd][0]
	}
	return agent, plain
}

// withUserAgent returns a copy of a header with agent as its only User-Agent,
// and without odd names (see isOdd).
func withUserAgent(h http.Header, agent string) http.Header {
	with := make(http.Header, len(h)+1)
	for name, lines := range h {
		if !isOdd(name) {
			with[name] = lines
		}
	}
	with["User-Agent"] = []string{agent}
	return with
}

// isOdd reports whether a header's name is User-Agent or Host in an unusual
// letter case, such as "user-agent". net/http would send such a line in
// addition to its own, and the server would choose one of the two.
func isOdd(name string) bool {
	if name == "User-Agent" || name == "Host" {
		return false
	}
	return strings.EqualFold(name, "User-Agent") || strings.EqualFold(name, "Host")
}

// productTokens checks a User-Agent and the product tokens, and returns the
// tokens. If the tokens are nil, it takes one from the User-Agent.
func productTokens(userAgent string, tokens []string) ([]string, error) {
	const example = `for example "ExampleBot/1.0 (+https://example.com/bot)"`
	if strings.TrimSpace(userAgent) == "" {
		return nil, errors.New("robotsmw: Options.UserAgent is empty: set the name of the crawler, " + example)
	}
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f }
	if i := strings.IndexFunc(userAgent, isControl); i >= 0 {
		return nil, fmt.Errorf("robotsmw: Options.UserAgent %q has a control character at byte %d: "+
			"an HTTP header must not contain it", userAgent, i)
	}
	if name, _ := cutToken(userAgent); isLibrary(name) {
		return nil, fmt.Errorf("robotsmw: Options.UserAgent %q is a library default; "+
			"set one that identifies the crawler, %s", userAgent, example)
	}
	if tokens == nil {
		token, err := productToken(userAgent)
		if err != nil {
			return nil, err
		}
		return []string{token}, nil
	}
	if len(tokens) == 0 {
		return nil, errors.New("robotsmw: Options.ProductTokens is empty but not nil: " +
			"set at least one token, or leave it nil to use that of UserAgent")
	}
	for _, t := range tokens {
		name, rest := cutToken(t)
		if name == "" || rest != "" {
			return nil, fmt.Errorf("robotsmw: product token %q: a token is one or more of A-Z a-z 0-9 _ - . "+
				"(no spaces, no version), such as %q", t, suggestToken(t))
		}
		if isLibrary(name) {
			return nil, fmt.Errorf("robotsmw: product token %q is a library's name, not a crawler's: "+
				"choose your own, such as \"ExampleBot\"", t)
		}
	}
	return append([]string(nil), tokens...), nil
}

// productToken returns the product token of a User-Agent: its first product, or
// the product after "compatible;" if the first is Mozilla. If the product is
// not a single word, productToken returns an error. A guess might make the
// crawler obey another crawler's rules.
func productToken(userAgent string) (string, error) {
	agent := strings.TrimSpace(userAgent)
	token, rest := cutToken(agent)
	if strings.EqualFold(token, "Mozilla") {
		_, after, found := strings.Cut(strings.Replace(agent, "Compatible;", "compatible;", 1), "compatible;")
		if !found {
			return "", fmt.Errorf("robotsmw: Options.UserAgent %q names no crawler after \"compatible;\": "+
				"set Options.ProductTokens, "+
				"or write \"Mozilla/5.0 (compatible; ExampleBot/1.0; +https://example.com/bot)\"",
				userAgent)
		}
		token, rest = cutToken(strings.TrimLeft(after, " "))
	}
	if token == "" || !endsName(rest) {
		return "", fmt.Errorf("robotsmw: no product token can be derived from Options.UserAgent %q: "+
			"begin it with a single word and its version, such as \"%s/1.0\", or set Options.ProductTokens",
			userAgent, suggestToken(agent))
	}
	if isLibrary(token) {
		return "", fmt.Errorf("robotsmw: the product token %q of Options.UserAgent %q is a library's name: "+
			"choose your own", token, userAgent)
	}
	return token, nil
}

// endsName reports whether a product's name is complete if rest follows it in a
// User-Agent: nothing, the product's version, a comment, a URL, or the end of
// the comment that contains the product. If another word follows, the name has
// spaces.
func endsName(rest string) bool {
	afterSpaces := strings.TrimLeft(rest, " ")
	if afterSpaces == "" || strings.ContainsAny(rest[:1], "/;)") {
		return true
	}
	hasSpace := len(afterSpaces) < len(rest)
	return hasSpace && strings.ContainsAny(afterSpaces[:1], "(+;)")
}

// cutToken splits s in two: the token characters at its beginning, and what
// follows them.
func cutToken(s string) (token, rest string) {
	i := 0
	for i < len(s) && isTokenByte(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func isTokenByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b == '.'
}

func isLibrary(token string) bool {
	return strings.EqualFold(token, "Go-http-client") || strings.EqualFold(token, "colly")
}

// suggestToken makes a valid token from an invalid one.
func suggestToken(s string) string {
	s, _, _ = strings.Cut(s, "/")
	return cmp.Or(strings.Join(candidateTokens(s), ""), "ExampleBot")
}

// candidateTokens returns the parts of s that could be product tokens.
func candidateTokens(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || !isTokenByte(byte(r)) })
}

// names reports whether a User-Agent contains the token as a whole word. Case
// does not matter.
func names(userAgent, token string) bool {
	isToken := func(word string) bool { return strings.EqualFold(word, token) }
	return slices.ContainsFunc(candidateTokens(userAgent), isToken)
}
