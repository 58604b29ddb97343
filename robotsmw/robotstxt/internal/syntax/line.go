package syntax

import "strings"

// A Span is a part of a file's text.
type Span struct{ From, To uint32 }

// In returns the part of text that the span denotes.
func (s Span) In(text string) string { return text[s.From:s.To] }

// A LineReader iterates over the lines of a file. A line ends with CR, LF or
// CRLF (RFC 9309 §2.2). The last line extends to the end of the file.
type LineReader struct {
	text    string
	Line    Span   // the current line, without its terminator
	Number  uint32 // the number of the current line, counted from 1
	Comment uint32 // the position of the comment, or the end of the line if there is none
	next    int    // the position of the next line; greater than len(text) if there is none

	// The positions of the next LF, CR and "#", or len(text). They are stored
	// so that Next does not search every line for bytes that are rare.
	lf, cr, hash int
}

// NewLineReader returns a LineReader that is positioned before the first line.
func NewLineReader(text string) *LineReader {
	return &LineReader{text: text, lf: -1, cr: -1, hash: -1}
}

// estimate returns the approximate number of lines.
func (l *LineReader) estimate() int { return strings.Count(l.text, "\n") }

// Next advances to the next line and reports whether there is one.
func (l *LineReader) Next() bool {
	start := l.next
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
	l.Line = Span{uint32(start), uint32(end)}
	l.Comment = uint32(min(l.hash, end))
	l.Number++
	l.next = end + 1
	if endsWithCRLF := l.cr < len(l.text) && l.lf == l.cr+1; endsWithCRLF {
		l.next = end + 2
	}
	return true
}

// IsLast reports whether the current line extends to the end of the file. The
// last line is empty if the file ends with LF or CR.
func (l *LineReader) IsLast() bool { return l.next > len(l.text) }

// indexFrom returns the index of the first byte c at or after start, or the
// length of text.
func indexFrom(text string, c byte, start int) int {
	if i := strings.IndexByte(text[start:], c); i >= 0 {
		return start + i
	}
	return len(text)
}

// Split splits a line, without its comment, at the first colon into the name
// and the value of a field. If there is no colon, the line must consist of two
// words, as in "Disallow /tmp". ok is false for any other line, and if the name
// is empty.
func Split(text string, line Span) (name, value Span, ok bool) {
	line = Trim(text, line)
	s := line.In(text)
	if i := strings.IndexByte(s, ':'); i >= 0 {
		colon := line.From + uint32(i)
		name = Trim(text, Span{line.From, colon})
		value = Trim(text, Span{colon + 1, line.To})
		return name, value, name.From < name.To
	}
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return Span{}, Span{}, false
	}
	second := strings.TrimLeft(s[i:], " \t")
	name = Trim(text, Span{line.From, line.From + uint32(i)})
	value = Trim(text, Span{line.To - uint32(len(second)), line.To})
	return name, value, !strings.ContainsAny(second, " \t")
}

// Trim returns the span s without leading and trailing white space.
func Trim(text string, s Span) Span {
	s = trimLeft(text, s)
	for s.From < s.To && isSpace(text[s.To-1]) {
		s.To--
	}
	return s
}

func trimLeft(text string, s Span) Span {
	for s.From < s.To && isSpace(text[s.From]) {
		s.From++
	}
	return s
}

// isSpace reports whether a byte is white space. NUL is included because some
// editors pad files with it.
func isSpace(c byte) bool {
	switch c {
	case ' ', '\t', '\v', '\f', 0:
		return true
	}
	return false
}

// isBlank reports whether a line, including its comment, is empty or consists
// of white space.
func isBlank(text string, line Span) bool {
	return Trim(text, line).In(text) == ""
}
