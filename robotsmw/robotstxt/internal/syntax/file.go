package syntax

import "bytes"

// MaxSize is the maximum size in bytes of the part of a file that is parsed,
// with its byte order mark: 500 KiB, the smallest limit that RFC 9309 §2.5
// permits.
const MaxSize = 500 << 10

// A File is a robots.txt file, split into records.
type File struct {
	Text      string   // at most MaxSize bytes of the body, without a byte order mark
	Records   []Record // the lines that have a field, in order; in Koster1996 also blank lines
	Dialect   Dialect
	Truncated bool // whether the body was longer than MaxSize
}

// A Record is a line that has a field and a value. In the dialect [Koster1996],
// a blank line is also a Record, whose Field is [Blank].
type Record struct {
	Line        uint32 // line number, counted from 1
	Field       Field
	Name, Value Span
}

// Name returns the name of a record's field, unchanged.
func (f *File) Name(r *Record) string { return r.Name.In(f.Text) }

// Value returns the value of a record.
func (f *File) Value(r *Record) string { return r.Value.In(f.Text) }

// Parse splits a file into records. It accepts any input, and copies the text.
func Parse(body []byte, dialect Dialect) File {
	f := File{
		Text:      string(TrimBOM(Truncate(body))),
		Dialect:   dialect,
		Truncated: len(body) > MaxSize,
	}
	lines := NewLineReader(f.Text)
	// This capacity is sufficient for most files, because two lines in three
	// have a field, and few of these lines are shorter than 16 bytes.
	f.Records = make([]Record, 0, min(lines.estimate(), len(f.Text)/16)+1)
	for lines.Next() {
		line := Span{lines.Line.From, lines.Comment}
		if dialect == Google {
			line = truncateGoogleLine(f.Text, line)
		}
		line = trimLeft(f.Text, line)
		if field, n := parseCommonField(line.In(f.Text)); field != Other {
			name := Span{line.From, line.From + n}
			value := Trim(f.Text, Span{name.To + 1, line.To})
			f.Records = append(f.Records, Record{lines.Number, field, name, value})
			continue
		}
		name, value, ok := Split(f.Text, line)
		switch {
		case ok:
			field := parseField(name.In(f.Text), dialect)
			f.Records = append(f.Records, Record{lines.Number, field, name, value})
		case dialect == Koster1996 && isBlank(f.Text, lines.Line):
			f.Records = append(f.Records, Record{Line: lines.Number, Field: Blank})
		}
	}
	return f
}

func parseField(name string, dialect Dialect) Field {
	if dialect == Google {
		return parseGoogleField(name)
	}
	return ParseField(name)
}

// Truncate returns the lines of a body that end within its first MaxSize bytes,
// or the whole body if it is not longer than MaxSize.
func Truncate(body []byte) []byte {
	if len(body) <= MaxSize {
		return body
	}
	return body[:bytes.LastIndexAny(body[:MaxSize], "\r\n")+1]
}

// TrimBOM removes a byte order mark, or the first bytes of one, from the
// beginning of a body.
func TrimBOM(body []byte) []byte {
	const bom = "\xef\xbb\xbf"
	n := 0
	for n < len(bom) && n < len(body) && body[n] == bom[n] {
		n++
	}
	return body[n:]
}
