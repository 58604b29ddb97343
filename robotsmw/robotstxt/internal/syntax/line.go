package syntax

import "strings"

// A Span is a part of a file's text.
type Span struct{ From, To uint32 }

// In returns the part of the text that the span covers.
func (s Span) In(text string) string { return text[s.From:s.To] }

// A LineReader iterates over the lines of a file. A line ends with CR, LF or
// CRLF (RFC 9309 §2.2). The last line ends where the file ends.
type LineReader struct {
	text    string
	Line    Span   // the current line, without its end
	Number  uint32 // the current line's number, counted from 1
	Comment uint32 // where the line's comment begins; if there is none, where the line ends
	after   int    // where the next line begins; if there is none, more than the length of text

	// The positions of the next LF, CR and "#", or the text's length. They are
	// kept so that Next does not search for a rare byte in each line anew.
	lf, cr, hash int
}

// NewLineReader returns a LineReader. Its first call of Next moves to the first
// line.
func NewLineReader(text string) *LineReader {
	return &LineReader{text: text, lf: -1, cr: -1, hash: -1}
}

func (l *LineReader) estimate() int { return strings.Count(l.text, "\n") }

// Next advances to the next line and reports whether there is one.
func (l *LineReader) Next() bool {
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
	l.Line, l.Comment = Span{uint32(start), uint32(end)}, uint32(min(l.hash, end))
	l.Number++
	l.after = end + 1
	if l.cr < len(l.text) && l.lf == l.cr+1 {
		l.after = max(l.after, end+2)
	}
	return true
}

// IsLast reports whether the current line ends where the file ends. If the last
// byte of the file is an LF or a CR, the last line is empty.
func (l *LineReader) IsLast() bool { return l.after > len(l.text) }

// indexFrom returns the index of the first byte c at or after start, or the
// length of text.
func indexFrom(text string, c byte, start int) int {
	if i := strings.IndexByte(text[start:], c); i >= 0 {
		return start + i
	}
	return len(text)
}

// Split splits a line at the first colon into the name and the value of its
// field. The line must be without its comment. Without a colon, two words are a
// name and a value, as in "Disallow /tmp". ok is false for any other line, and
// if the name is empty.
func Split(text string, line Span) (name, value Span, ok bool) {
	line = Trim(text, line)
	s := text[line.From:line.To]
	if i := strings.IndexByte(s, ':'); i >= 0 {
		colon := line.From + uint32(i)
		name = Trim(text, Span{line.From, colon})
		return name, Trim(text, Span{colon + 1, line.To}), name.From < name.To
	}
	i := 0
	for i < len(s) && s[i] != ' ' && s[i] != '\t' {
		i++
	}
	if i == len(s) {
		return name, value, false
	}
	words := strings.TrimLeft(s[i:], " \t")
	name = Trim(text, Span{line.From, line.From + uint32(i)})
	return name, Trim(text, Span{line.To - uint32(len(words)), line.To}), !strings.ContainsAny(words, " \t")
}

// Trim returns the span s without the white space at both ends.
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

// isSpace reports whether a byte is space, tab, VT, FF or NUL. NUL is among
// them, because some editors leave it in a file.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == 0 }

// isBlank reports whether a line has nothing but white space. A line with a
// comment is not blank.
func isBlank(text string, line Span) bool {
	return Trim(text, line).In(text) == ""
}
