package robotstxt

// MaxSize is how much of a robots.txt file counts, in octets: 500 KiB, the least that RFC 9309 §2.5 lets a
// parser take. Of a longer body, [Parse] reads the lines that end within its first MaxSize octets, so that a
// line cut in half never becomes a shorter, wider rule. Give Parse more than MaxSize octets when there are more
// (one is enough): of a body of exactly MaxSize octets the last line is taken to be whole.
const MaxSize = 500 << 10

// A File is a parsed robots.txt file. It does not change after [Parse]: any number of goroutines may use it.
//
// A File keeps the file's text. The [Rules] taken from it do not, so that a crawler which wants one robot's
// rules can keep those and drop the File.
type File struct {
	text    string   // the part of the body that counts, without a byte order mark
	records []record // its lines that hold a field and a value, in order
	dialect Dialect
}

// A record is a line that has a field and a value.
type record struct {
	line        uint32 // counted from 1
	field       field
	name, value span
}

// A span is a part of File.text.
type span struct{ from, to uint32 }

func (f *File) name(r *record) string  { return f.text[r.name.from:r.name.to] }
func (f *File) value(r *record) string { return f.text[r.value.from:r.value.to] }

// Parse reads a robots.txt file. Any bytes will do: what is not a rule is skipped, as RFC 9309 §2.3.1.5 wants,
// line by line, so that one bad line costs no other. [Lint] tells what was skipped. The body may be changed
// afterwards.
func Parse(body []byte) *File {
	return RFC9309.Parse(body)
}

// parse fills in the records.
func (f *File) parse() {
	lines := newLineReader(f.text)
	// Two lines of three hold a field, and few of these are shorter than this.
	f.records = make([]record, 0, min(lines.estimate(), len(f.text)/16)+1)
	for lines.next() {
		line := span{lines.line.from, uint32(lines.comment)}
		if f.dialect == Google {
			line = cutForGoogle(f.text, line)
		}
		name, value, ok := split(f.text, line)
		switch {
		case ok:
			f.records = append(f.records, record{lines.number, f.fieldOf(f.text[name.from:name.to]), name, value})
		case f.dialect == Koster1996 && trim(f.text, lines.line) == (span{lines.line.to, lines.line.to}):
			f.records = append(f.records, record{line: lines.number, field: fieldBlank})
		}
	}
}

func (f *File) fieldOf(name string) field {
	if f.dialect == Google {
		return googleFieldOf(name)
	}
	return fieldOf(name)
}
