package robotstxt

import (
	"iter"
	"strings"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// MaxSize is how much of a robots.txt file counts, in bytes: 500 KiB, the least
// that RFC 9309 §2.5 lets a parser take. Of a longer body, [Parse] reads the
// lines that end within its first MaxSize bytes, so that a line cut in half
// never becomes a shorter, wider rule. Give Parse more than MaxSize bytes when
// there are more (one is enough): of a body of exactly MaxSize bytes the last
// line is taken to be whole.
const MaxSize = syntax.MaxSize

// A File is a parsed robots.txt file. It does not change after [Parse]: any
// number of goroutines may use it.
//
// A File keeps the file's text. The [Rules] taken from it do not, so that a
// crawler which wants one robot's rules can keep those and drop the File.
type File struct{ syntax syntax.File }

// Parse reads a robots.txt file. Any bytes will do: what is not a rule is
// skipped, as RFC 9309 §2.3.1.5 wants, line by line, so that one bad line costs
// no other. Package lint tells what was skipped. The body may be changed
// afterwards.
func Parse(body []byte) *File { return &File{syntax.Parse(body, syntax.RFC9309)} }

// Size returns how many bytes of memory the File keeps, for a cache that has to
// know: its text, and what is known of each line. A file of very short lines
// takes a dozen times its text.
func (f *File) Size() int {
	return int(unsafe.Sizeof(*f)) + len(f.syntax.Text) + cap(f.syntax.Records)*int(unsafe.Sizeof(syntax.Record{}))
}

// Lines yields the lines of the file with their numbers, counted from 1, as
// they were sent but for their ends: what to show around the line that decided.
// It is the part of the file that counts: at most [MaxSize] bytes, without a
// byte order mark.
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

// Sitemaps returns the file's Sitemap lines as written, in order. They belong
// to no group (RFC 9309 §2.2.4).
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
	Name  string // as written: "Crawl-delay", "content-signal"
	Value string // as written, without a comment and the white space around it
	Line  int    // counted from 1
}

// Is reports whether a field goes by a name, without regard to case.
func (f Field) Is(name string) bool { return strings.EqualFold(f.Name, name) }

// Fields yields the lines that are neither a user-agent line nor a rule and
// that go by one of some names, in order and wherever they stand; without a
// name, all of them. What they mean no standard says: Host and License are
// meant for the whole file, for example, wherever they stand.
func (f *File) Fields(names ...string) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for i := range f.syntax.Records {
			field, ok := f.field(&f.syntax.Records[i])
			if ok && (len(names) == 0 || isAny(field, names)) && !yield(field) {
				return
			}
		}
	}
}

func isAny(f Field, names []string) bool {
	for _, name := range names {
		if f.Is(name) {
			return true
		}
	}
	return false
}

// field returns a record as a Field, if it is one.
func (f *File) field(r *syntax.Record) (Field, bool) {
	switch r.Field {
	case syntax.UserAgent, syntax.Allow, syntax.Disallow, syntax.Blank:
		return Field{}, false
	}
	return Field{f.syntax.Name(r), f.syntax.Value(r), int(r.Line)}, true
}
