package robotstxt

import (
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// MaxSize is how many bytes of a robots.txt file count: 500 KiB. RFC 9309 §2.5
// forbids a smaller limit. If a body is longer, [Parse] reads only the lines
// that end within the first MaxSize bytes. So a line cut in half never becomes
// a shorter rule that matches more.
//
// A caller need not read all of a longer file, but must give Parse the first
// MaxSize+1 bytes or more. In a body of exactly MaxSize bytes, Parse would
// treat the last line as whole.
const MaxSize = syntax.MaxSize

// A File is a parsed robots.txt file. It does not change after [Parse], so any
// number of goroutines may use it.
//
// A File keeps the file's text. Its [Rules] do not keep this text. So a crawler
// that needs the rules for one robot can keep the Rules and drop the File.
type File struct{ syntax syntax.File }

// Parse parses a robots.txt file. It accepts any bytes, such as the HTML pages
// that many servers send. It skips lines that it cannot parse, as RFC 9309
// §2.3.1.5 requires. They do not affect other lines. The File keeps a copy of
// the text, so the caller may change body.
//
// A line is a field, a colon and a value. "#" begins a comment anywhere. White
// space around the line, the field and the value is ignored, and NUL there
// counts as white space. The case of a field is ignored, too. Lines end with
// LF, CR LF or CR. A byte order mark at the beginning of the file is skipped.
// Two words without a colon between them are a field and a value. Parse also
// understands some frequent misspellings ("Dissallow", "Useragent"). The length
// of a line is not limited, but only the first [MaxSize] bytes of a file count.
func Parse(body []byte) *File { return &File{syntax.Parse(body, syntax.RFC9309)} }

// Truncated reports whether the body was longer than [MaxSize]. Lines at its
// end do not count then, so their content is unknown.
func (f *File) Truncated() bool { return f.syntax.Truncated }

// Size returns how many bytes of memory the File takes, with its text and the
// index of its lines. A cache can add up these sizes. A file of very short
// lines may take a dozen times its text. In the dialect [Koster1996], a file of
// blank lines may take 30 times its text.
func (f *File) Size() int {
	return int(unsafe.Sizeof(*f)) + len(f.syntax.Text) + cap(f.syntax.Records)*int(unsafe.Sizeof(syntax.Record{}))
}

// Lines yields the number of each line, counted from 1, and its text without
// the line end. A program can use Lines to show the lines around the rule that
// decided. Lines yields only the part of the file that counts: at most
// [MaxSize] bytes, without a byte order mark.
func (f *File) Lines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for lines := syntax.NewLineReader(f.syntax.Text); lines.Next(); {
			text := lines.Line.In(f.syntax.Text)
			if lines.IsLast() && text == "" || !yield(int(lines.Number), text) {
				return
			}
		}
	}
}

// Sitemaps returns the values of the file's Sitemap lines as written, in order.
// It leaves out empty values. Sitemaps belong to no group (RFC 9309 §2.2.4).
func (f *File) Sitemaps() []string {
	var urls []string
	for i := range f.syntax.Records {
		if r := &f.syntax.Records[i]; r.Field == syntax.Sitemap && f.syntax.Value(r) != "" {
			urls = append(urls, f.syntax.Value(r))
		}
	}
	return urls
}

// A Field is a line that is neither a user-agent line nor a rule.
type Field struct {
	Name  string // as written, such as "Crawl-delay" or "content-signal"
	Value string // as written, without a comment and surrounding white space
	Line  int    // counted from 1
}

// Fields yields, in order, the lines that are neither user-agent lines nor
// rules. If the caller passes names, Fields yields only the lines that have one
// of these names, ignoring case. RFC 9309 does not say what such lines mean.
// Some of them, such as Host and License, are about the whole file, wherever
// they stand.
func (f *File) Fields(names ...string) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for i := range f.syntax.Records {
			field, ok := f.field(&f.syntax.Records[i])
			isNamed := func(name string) bool { return strings.EqualFold(name, field.Name) }
			if ok && (len(names) == 0 || slices.ContainsFunc(names, isNamed)) && !yield(field) {
				return
			}
		}
	}
}

// field returns a record as a Field. It returns false for user-agent lines,
// rules and blank lines.
func (f *File) field(r *syntax.Record) (Field, bool) {
	switch r.Field {
	case syntax.UserAgent, syntax.Allow, syntax.Disallow, syntax.Blank:
		return Field{}, false
	}
	return Field{f.syntax.Name(r), f.syntax.Value(r), int(r.Line)}, true
}
