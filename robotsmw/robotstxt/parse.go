package robotstxt

import "strings"

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
}

// A record is one line of a file that has a field and a value. Its strings are parts of File.text.
type record struct {
	field field
	line  int // counted from 1
	name  string
	value string
}

// Parse reads a robots.txt file. Any bytes will do: what is not a rule is skipped, as RFC 9309 §2.3.1.5 wants,
// line by line, so that one bad line costs no other. [Lint] tells what was skipped. The body may be changed
// afterwards.
func Parse(body []byte) *File {
	f := &File{text: string(whole(withoutBOM(body)))}
	f.records = make([]record, 0, min(strings.Count(f.text, "\n"), len(f.text)/12)+1)
	for l := range lines(f.text) {
		if name, value, ok := split(l.text); ok {
			f.records = append(f.records, record{field: fieldOf(name), line: l.number, name: name, value: value})
		}
	}
	return f
}
