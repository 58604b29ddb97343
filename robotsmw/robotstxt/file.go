package robotstxt

import (
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// MaxSize is the maximum size in bytes of the part of a robots.txt file that is
// parsed: 500 KiB, the smallest limit that RFC 9309 §2.5 permits. If a body is
// longer, [Parse] ignores all lines that do not end within the first MaxSize
// bytes, because half of a line might be a rule that matches more than the
// whole line.
//
// A caller that limits how much of a file it reads should pass at least
// MaxSize+1 bytes to Parse. Otherwise Parse cannot detect that the last line is
// incomplete. A byte order mark is part of these bytes.
const MaxSize = syntax.MaxSize

// A File is a parsed robots.txt file. It is immutable, and safe for concurrent
// use by multiple goroutines.
//
// A File retains a copy of the text. [Rules] do not refer to that copy, so a
// crawler that needs the rules for only one robot can discard the File.
type File struct{ syntax syntax.File }

// Parse parses a robots.txt file. It accepts any input, including the HTML
// pages that many servers send instead of a file. Lines that cannot be parsed
// are skipped and do not affect other lines (RFC 9309 §2.3.1.5). Parse copies
// the text, so the caller may modify body afterwards.
//
// A line consists of a field name, a colon and a value. "#" begins a comment
// anywhere in a line. White space around the name and the value is ignored, and
// so is NUL. Names are case-insensitive. Lines end with LF, CR LF or CR. A byte
// order mark at the beginning of the file is skipped. Parse also accepts two
// words without a colon ("Disallow /tmp"), and common misspellings of
// User-agent and Disallow ("Useragent", "Dissallow"). Lines may have any
// length, but the size of a file is limited to [MaxSize].
func Parse(body []byte) *File {
	return &File{syntax.Parse(body, syntax.RFC9309)}
}

// Truncated reports whether the body was longer than [MaxSize], so that lines
// at its end were ignored.
func (f *File) Truncated() bool { return f.syntax.Truncated }

// Size returns the memory that the File occupies, in bytes. It consists of the
// text and an index of the lines, which in a file of very short lines may be
// ten times as large as the text, or 30 times in the dialect [Koster1996].
func (f *File) Size() int {
	index := cap(f.syntax.Records) * int(unsafe.Sizeof(syntax.Record{}))
	return int(unsafe.Sizeof(*f)) + len(f.syntax.Text) + index
}

// Lines yields the number of each line, counted from 1, and its text without
// the line terminator. Programs can use it to display the context of the rule
// that decided. Lines omits the byte order mark, and the lines that [Parse]
// ignores because of [MaxSize].
func (f *File) Lines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		lines := syntax.NewLineReader(f.syntax.Text)
		for lines.Next() {
			text := lines.Line.In(f.syntax.Text)
			if lines.IsLast() && text == "" {
				return
			}
			if !yield(int(lines.Number), text) {
				return
			}
		}
	}
}

// Sitemaps returns the values of the Sitemap lines, in order, without changing
// them. Empty values are omitted. Sitemaps do not belong to any group (RFC 9309
// §2.2.4).
func (f *File) Sitemaps() []string {
	var urls []string
	for i := range f.syntax.Records {
		r := &f.syntax.Records[i]
		if r.Field != syntax.Sitemap {
			continue
		}
		if url := f.syntax.Value(r); url != "" {
			urls = append(urls, url)
		}
	}
	return urls
}

// A Field is a line that is neither a user-agent line nor a rule.
type Field struct {
	Name  string // unchanged, such as "Crawl-delay" or "content-signal"
	Value string // without comment and surrounding white space
	Line  int    // line number, counted from 1
}

// Fields yields, in order, the lines that are neither user-agent lines nor
// rules. If names are given, it yields only the lines that have one of these
// names, in any case. RFC 9309 does not define such lines. Some of them, such
// as Host and License, apply to the whole file regardless of their position;
// others apply to a group, and are also returned by [File.GroupsFor].
func (f *File) Fields(names ...string) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for i := range f.syntax.Records {
			field, ok := f.field(&f.syntax.Records[i])
			if !ok || !field.hasName(names) {
				continue
			}
			if !yield(field) {
				return
			}
		}
	}
}

// hasName reports whether the field has one of the names, or names is empty.
func (f Field) hasName(names []string) bool {
	if len(names) == 0 {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, f.Name)
	})
}

// field converts a record to a Field. It returns false for user-agent lines,
// rules and blank lines.
func (f *File) field(r *syntax.Record) (Field, bool) {
	switch r.Field {
	case syntax.UserAgent, syntax.Allow, syntax.Disallow, syntax.Blank:
		return Field{}, false
	}
	return Field{f.syntax.Name(r), f.syntax.Value(r), int(r.Line)}, true
}
