package evidence

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// These functions build lines, because encoding/json would take longer than all
// other work on a request's lines. A function that takes a name and a value
// appends a member, or nothing if the value is zero. Only appendSeconds appends
// a member for a zero value too.

func appendMember(b []byte, name string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendQuoted(appendMember(b, name), text)
}

// appendJSON appends any value. It is for lines that are rare.
func appendJSON(b []byte, name string, value any) []byte {
	text, _ := json.Marshal(value) // maps and slices of strings and numbers never fail
	return append(appendMember(b, name), text...)
}

// appendPlain does what appendText does, for a text that needs no escapes in
// JSON.
func appendPlain(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b = append(appendMember(b, name), '"')
	return append(append(b, text...), '"')
}

func appendNumber(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendMember(b, name), n, 10)
}

func appendTrue(b []byte, name string, is bool) []byte {
	if !is {
		return b
	}
	return append(appendMember(b, name), "true"...)
}

func appendTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(appendMember(b, name), '"')
	return append(appendRFC3339(b, t), '"')
}

func appendSeconds(b []byte, name string, d time.Duration) []byte {
	b, n := appendMember(b, name), uint64(d)
	if d < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendUint(b, n/1e9, 10)
	if n %= 1e9; n == 0 {
		return b
	}
	fraction := strconv.AppendUint(nil, 1e9+n, 10) // a 1, and then nine digits
	return append(append(b, '.'), bytes.TrimRight(fraction[1:], "0")...)
}

// appendWait does what appendSeconds does, but appends nothing for 0.
func appendWait(b []byte, name string, d time.Duration) []byte {
	if d == 0 {
		return b
	}
	return appendSeconds(b, name, d)
}

func appendRFC3339(b []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000000Z")
}

// The table "plain" says which bytes need no escape in a JSON string. It is
// false for all bytes beyond ASCII.
var plain = func() (is [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// appendQuoted appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendQuoted[T string | []byte](b []byte, text T) []byte {
	return append(appendEscaped(append(b, '"'), text), '"')
}

func appendEscaped[T string | []byte](b []byte, text T) []byte {
	const hex = "0123456789abcdef"
	done := 0
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		b = append(b, text[done:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, "\ufffd"...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i += size
		done = i
	}
	return append(b, text[done:]...)
}
