package syntax

import "strings"

// googleMaxLine is how many bytes of a line Google's parser reads: its buffer
// has one byte more, for a NUL.
const googleMaxLine = 2083*8 - 1

func cutForGoogle(text string, line Span) Span {
	line.To = min(line.To, line.From+googleMaxLine)
	if i := strings.IndexByte(line.In(text), 0); i >= 0 {
		line.To = line.From + uint32(i)
	}
	return line
}

// googleFieldOf does the same as FieldOf, in the [Google] dialect, which
// accepts more spellings of Allow and Sitemap.
func googleFieldOf(name string) Field {
	field := FieldOf(name)
	switch {
	case field == Other && hasAnyPrefixFold(name, "allow"):
		return Allow
	case field == Other && hasAnyPrefixFold(name, "sitemap", "site-map"):
		return Sitemap
	}
	return field
}
