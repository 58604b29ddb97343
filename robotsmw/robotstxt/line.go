package robotstxt

import (
	"bytes"
	"iter"
	"strings"
)

// A line ends with CR, LF or CRLF (RFC 9309 §2.2), and the last one also with the file.
type line struct {
	number int // counted from 1
	text   string
}

// lines splits a file into its lines.
func lines(text string) iter.Seq[line] {
	return func(yield func(line) bool) {
		for number := 1; ; number++ {
			end := strings.IndexAny(text, "\r\n")
			if end < 0 {
				yield(line{number, text})
				return
			}
			if !yield(line{number, text[:end]}) {
				return
			}
			if strings.HasPrefix(text[end:], "\r\n") {
				end++
			}
			text = text[end+1:]
		}
	}
}

// whole returns the part of a body that counts: all of it, or the lines that end within MaxSize octets.
func whole(body []byte) []byte {
	if len(body) <= MaxSize {
		return body
	}
	return body[:bytes.LastIndexAny(body[:MaxSize], "\r\n")+1]
}

// withoutBOM drops a byte order mark, or the beginning of one that was cut short.
func withoutBOM(body []byte) []byte {
	const bom = "\xef\xbb\xbf"
	n := 0
	for n < len(bom) && n < len(body) && body[n] == bom[n] {
		n++
	}
	return body[n:]
}

// split takes a line apart: what stands before the first colon is the field, what follows is the value, and
// "#" begins a comment. Without a colon, two words are a field and a value, as in "Disallow /tmp".
func split(s string) (name, value string, ok bool) {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	s = trim(s)
	if i := strings.IndexByte(s, ':'); i >= 0 {
		name = trim(s[:i])
		return name, trim(s[i+1:]), name != ""
	}
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return "", "", false
	}
	name, value = s[:i], strings.TrimLeft(s[i:], " \t")
	return name, value, !strings.ContainsAny(value, " \t")
}

// trim drops white space from both ends: space, tab, VT, FF and, because some editors leave it, NUL.
func trim(s string) string { return strings.Trim(s, " \t\v\f\x00") }
