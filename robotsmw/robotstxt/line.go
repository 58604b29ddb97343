package robotstxt

import (
	"bytes"
	"iter"
	"strings"
)

// Lines yields the lines of the file with their numbers, counted from 1, as they were sent but for their ends: what to
// show around the line that decided. It is the part of the file that counts: at most [MaxSize] octets, without a byte
// order mark.
func (f *File) Lines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for lines := newLineReader(f.text); lines.next(); {
			text := f.text[lines.line.from:lines.line.to]
			if last := lines.after > len(f.text); last && text == "" || !yield(int(lines.number), text) {
				return
			}
		}
	}
}

// A lineReader goes through the lines of a file. A line ends with CR, LF or CRLF (RFC 9309 §2.2), and the last one
// with the file.
type lineReader struct {
	text   string
	line   span   // the current line, without its end
	number uint32 // of the current line, counted from 1
	after  int    // where the next line begins; beyond the text after the last one

	// Where the next of these octets is, or the text's length. Looking for them once in a file rather than once
	// in a line makes files cheap in which one of them is rare.
	lf, cr, hash int
	comment      int // where the current line's comment begins, or its end
}

func newLineReader(text string) *lineReader {
	return &lineReader{text: text, lf: -1, cr: -1, hash: -1}
}

// estimate returns roughly how many lines there are.
func (l *lineReader) estimate() int { return strings.Count(l.text, "\n") }

// next goes to the next line and reports whether there is one.
func (l *lineReader) next() bool {
	start := l.after
	if start > len(l.text) {
		return false
	}
	if l.lf < start {
		l.lf = indexFrom(l.text, '\n', start)
	}
	if l.cr < start {
		l.cr = indexFrom(l.text, '\r', start)
	}
	if l.hash < start {
		l.hash = indexFrom(l.text, '#', start)
	}
	end := min(l.lf, l.cr)
	l.line, l.comment = span{uint32(start), uint32(end)}, min(l.hash, end)
	l.number++
	l.after = end + 1
	if l.cr < len(l.text) && l.lf == l.cr+1 {
		l.after = max(l.after, end+2)
	}
	return true
}

// indexFrom returns where the octet c is first at or after start, or the text's length.
func indexFrom(text string, c byte, start int) int {
	if i := strings.IndexByte(text[start:], c); i >= 0 {
		return start + i
	}
	return len(text)
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

// split takes a line apart that has no comment: what stands before the first colon is the field, and what follows
// is the value. Without a colon, two words are a field and a value, as in "Disallow /tmp".
func split(text string, line span) (name, value span, ok bool) {
	line = trim(text, line)
	s := text[line.from:line.to]
	if i := strings.IndexByte(s, ':'); i >= 0 {
		colon := line.from + uint32(i)
		name = trim(text, span{line.from, colon})
		return name, trim(text, span{colon + 1, line.to}), name.from < name.to
	}
	i := 0
	for i < len(s) && s[i] != ' ' && s[i] != '\t' {
		i++
	}
	if i == len(s) {
		return name, value, false
	}
	words := strings.TrimLeft(s[i:], " \t")
	name = trim(text, span{line.from, line.from + uint32(i)})
	return name, trim(text, span{line.to - uint32(len(words)), line.to}), !strings.ContainsAny(words, " \t")
}

// trim drops white space from both ends.
func trim(text string, s span) span {
	for s.from < s.to && isSpace(text[s.from]) {
		s.from++
	}
	for s.from < s.to && isSpace(text[s.to-1]) {
		s.to--
	}
	return s
}

// isSpace reports whether an octet is white space: space, tab, VT, FF and, because some editors leave it, NUL.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == 0 }
