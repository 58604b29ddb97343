package robotsmeta

type tokenKind uint8

const (
	endToken       tokenKind = iota
	wordToken                // bytes that are neither white space nor delimiters
	separatorToken           // "," or ";"
	colonToken               // ":"
)

// A token is a lexical element of a header line or of the content of a meta
// element.
type token struct {
	kind       tokenKind
	start, end int // text[start:end] is the token
}

// nextToken returns the first token at or after text[pos].
func nextToken(text string, pos int) token {
	for pos < len(text) && isSpace(text[pos]) {
		pos++
	}
	if pos == len(text) {
		return token{endToken, pos, pos}
	}
	switch text[pos] {
	case ',', ';':
		return token{separatorToken, pos, pos + 1}
	case ':':
		return token{colonToken, pos, pos + 1}
	}
	start := pos
	for pos < len(text) && isWordByte(text[pos]) {
		pos++
	}
	return token{wordToken, start, pos}
}

func isWordByte(c byte) bool {
	switch c {
	case ',', ';', ':':
		return false
	}
	return !isSpace(c)
}
