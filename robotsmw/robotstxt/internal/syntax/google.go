package syntax

import "strings"

// maxGoogleLine is the maximum number of bytes of a line that Google's parser
// reads into its buffer, which has an additional byte for a NUL.
const maxGoogleLine = 2083*8 - 1

// truncateGoogleLine returns the part of a line that Google's parser reads.
func truncateGoogleLine(text string, line Span) Span {
	line.To = min(line.To, line.From+maxGoogleLine)
	if i := strings.IndexByte(line.In(text), 0); i >= 0 {
		line.To = line.From + uint32(i)
	}
	return line
}

// parseGoogleField is like ParseField for the dialect [Google], which accepts
// more spellings of Allow and Sitemap.
func parseGoogleField(name string) Field {
	if field := ParseField(name); field != Other {
		return field
	}
	if hasAnyPrefixFold(name, "allow") {
		return Allow
	}
	if hasAnyPrefixFold(name, "sitemap", "site-map") {
		return Sitemap
	}
	return Other
}
