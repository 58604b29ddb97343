package record

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Limits on the Sitemap lines of one robots.txt. They bound what a server can
// make a crawler keep in addition to the rules. Few sites have more than a
// hundred Sitemap lines, because one sitemap index can list 50,000 sitemaps.
const (
	maxSitemaps      = 1000
	maxSitemapLength = 8 << 10  // of one line's value, as for the URL of a redirect
	maxSitemapBytes  = 64 << 10 // of all values together
)

// sitemapList has the values of the Sitemap lines of a document whose text is
// not kept. A Document refers to it with a pointer, so that the many documents
// without Sitemap lines stay small.
type sitemapList struct{ values []string }

// newSitemapList returns the Sitemap lines of a file, or nil if it has none.
// The list shares no memory with the file.
func newSitemapList(f *robotstxt.File) *sitemapList {
	lines := limitedSitemaps(f)
	if len(lines) == 0 {
		return nil
	}
	text := concat(lines) // one allocation instead of one for each line
	list := &sitemapList{make([]string, len(lines))}
	for i, line := range lines {
		list.values[i] = text[:len(line)]
		text = text[len(line):]
	}
	return list
}

// concat returns the concatenation of values, in memory of its own.
// strings.Join would return a single value itself, and so keep the whole file
// in memory.
func concat(values []string) string {
	size := 0
	for _, value := range values {
		size += len(value)
	}
	var b strings.Builder
	b.Grow(size)
	for _, value := range values {
		b.WriteString(value)
	}
	return b.String()
}

// cost returns roughly how many bytes of memory the list takes.
func (s *sitemapList) cost() int {
	if s == nil {
		return 0
	}
	const header, perValue = 24, 16 // of a slice, and of each string in it
	n := header + perValue*cap(s.values)
	for _, value := range s.values {
		n += len(value)
	}
	return n
}

// limitedSitemaps returns the values of a file's Sitemap lines, in order and
// within the limits. It leaves out a value that is too long, and all lines
// after maxSitemaps or maxSitemapBytes. The values are parts of the file's
// text.
func limitedSitemaps(f *robotstxt.File) []string {
	var values []string
	size := 0
	for _, value := range f.Sitemaps() {
		if len(value) > maxSitemapLength {
			continue
		}
		size += len(value)
		if len(values) == maxSitemaps || size > maxSitemapBytes {
			break
		}
		values = append(values, value)
	}
	return values
}
