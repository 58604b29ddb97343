package syntax

import "bytes"

// MaxSize is how many bytes of a robots.txt file count: 500 KiB. RFC 9309 §2.5
// forbids a smaller limit.
const MaxSize = 500 << 10

// A File is a robots.txt file, split into records.
type File struct {
	Text      string   // the part of the body that counts, without a byte order mark
	Records   []Record // the lines with a field, in order; in Koster1996 also blank lines
	Dialect   Dialect
	Truncated bool // whether the body is longer than Text may be
}

// A Record is a line that has a field and a value. In the dialect [Koster1996],
// a blank line is also a Record, and its Field is the constant Blank.
type Record struct {
	Line        uint32 // counted from 1
	Field       Field
	Name, Value Span
}

// Name returns the name of a record's field, as written.
func (f *File) Name(r *Record) string { return r.Name.In(f.Text) }

// Value returns the value of a record.
func (f *File) Value(r *Record) string { return r.Value.In(f.Text) }

// Parse splits a file into records, in a dialect. It accepts any bytes, and
// does not keep body.
func Parse(body []byte, dialect Dialect) File {
	body = WithoutBOM(body)
	f := File{Text: string(Whole(body)), Dialect: dialect, Truncated: len(body) > MaxSize}
	lines := NewLineReader(f.Text)
	// This capacity is enough for most files: two lines in three have a field,
	// and few of these lines are shorter than 16 bytes.
	f.Records = make([]Record, 0, min(lines.estimate(), len(f.Text)/16)+1)
	for lines.Next() {
		line := Span{lines.Line.From, lines.Comment}
		if dialect == Google {
			line = cutForGoogle(f.Text, line)
		}
		line = trimLeft(f.Text, line)
		if field, n := knownField(line.In(f.Text)); field != Other {
			name := Span{line.From, line.From + n}
			f.Records = append(f.Records, Record{lines.Number, field, name, Trim(f.Text, Span{name.To + 1, line.To})})
			continue
		}
		name, value, ok := Split(f.Text, line)
		switch {
		case ok:
			f.Records = append(f.Records, Record{lines.Number, fieldOf(name.In(f.Text), dialect), name, value})
		case dialect == Koster1996 && isBlank(f.Text, lines.Line):
			f.Records = append(f.Records, Record{Line: lines.Number, Field: Blank})
		}
	}
	return f
}

func fieldOf(name string, dialect Dialect) Field {
	if dialect == Google {
		return googleFieldOf(name)
	}
	return FieldOf(name)
}

// Whole returns the part of a body that counts. If the body is longer than
// MaxSize, only the lines that end within MaxSize bytes count.
func Whole(body []byte) []byte {
	if len(body) <= MaxSize {
		return body
	}
	return body[:bytes.LastIndexAny(body[:MaxSize], "\r\n")+1]
}

// WithoutBOM returns a body without the byte order mark at its beginning. It
// also removes an incomplete byte order mark.
func WithoutBOM(body []byte) []byte {
	const bom = "\xef\xbb\xbf"
	n := 0
	for n < len(bom) && n < len(body) && body[n] == bom[n] {
		n++
	}
	return body[n:]
}
