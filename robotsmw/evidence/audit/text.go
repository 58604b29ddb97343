package audit

import (
	"bytes"
	"strconv"
)

// cutWord splits s after its first word.
func cutWord(s []byte) (word, rest []byte) {
	word, rest, _ = bytes.Cut(s, []byte(" "))
	return word, rest
}

// quoted splits s after the quoted text at its beginning. A backslash in the
// text escapes the next character. ok is false if s does not begin with a
// quoted text.
func quoted(s []byte) (text, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return nil, nil, false
	}
	for i := 1; ; {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			return nil, nil, false
		}
		i += n
		slashes := 0
		for s[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return s[1:i], s[i+1:], true
		}
		i++
	}
}

// unescaped decodes the escapes that logs use for quotes, control characters
// and bytes above ASCII: \x22 (nginx, Apache), \" and \n (Apache). A text with
// other escapes is returned unchanged.
func unescaped(s []byte) string {
	if bytes.IndexByte(s, '\\') >= 0 {
		if text, err := strconv.Unquote(`"` + string(s) + `"`); err == nil {
			return text
		}
	}
	return string(s)
}

// isDigits reports whether s consists of one or more digits.
func isDigits(s []byte) bool {
	for _, b := range s {
		if b < '0' || b > '9' {
			return false
		}
	}
	return len(s) > 0
}
