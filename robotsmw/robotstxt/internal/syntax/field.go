package syntax

import "strings"

// A Field is the field of a line.
type Field uint8

const (
	Other Field = iota // any other field; never begins or ends a group
	UserAgent
	Allow
	Disallow
	CrawlDelay
	Sitemap
	Blank // a blank line, which ends a record in the dialect Koster1996
)

// ParseField returns the Field with the given name, in any case.
//
// Like Google's parser, ParseField accepts misspellings of User-agent and
// Disallow, and all names that begin with one of their spellings, so that a
// misspelled line still restricts robots as its author intended. "Allow" must
// be spelled correctly, because accepting a misspelling might allow what the
// author did not intend to allow.
func ParseField(name string) Field {
	switch name { // fast path for the usual spellings
	case "Disallow", "disallow":
		return Disallow
	case "Allow", "allow":
		return Allow
	case "User-agent", "User-Agent", "user-agent":
		return UserAgent
	case "Sitemap", "sitemap":
		return Sitemap
	case "Crawl-delay", "Crawl-Delay", "crawl-delay":
		return CrawlDelay
	}
	switch {
	case hasAnyPrefixFold(name, "user-agent", "useragent", "user agent"):
		return UserAgent
	case hasAnyPrefixFold(name, "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
		return Disallow
	case strings.EqualFold(name, "allow"):
		return Allow
	case strings.EqualFold(name, "crawl-delay"), strings.EqualFold(name, "crawldelay"):
		return CrawlDelay
	case strings.EqualFold(name, "sitemap"):
		return Sitemap
	}
	return Other
}

// parseCommonField is a fast path for lines that begin with one of the most
// common names and a colon. It returns the Field and the length of the name, or
// Other for all other lines, and for lines of fewer than nine bytes.
func parseCommonField(line string) (field Field, length uint32) {
	if len(line) < wordSize+1 {
		return Other, 0
	}
	word := lower64(line)
	switch {
	case word == disallowWord && line[8] == ':':
		return Disallow, 8
	case word&wordMask(5) == allowWord && line[5] == ':':
		return Allow, 5
	case word == userAgentWord && endsUserAgent(line):
		return UserAgent, 10
	case word&wordMask(7) == sitemapWord && line[7] == ':':
		return Sitemap, 7
	}
	return Other, 0
}

// endsUserAgent reports whether a line whose first word is userAgentWord begins
// with "user-agent:". The hyphen is compared again because lower64 does not
// preserve it.
func endsUserAgent(line string) bool {
	if len(line) <= len("user-agent") || line[4] != '-' {
		return false
	}
	return line[8]|' ' == 'n' && line[9]|' ' == 't' && line[10] == ':'
}

const wordSize = 8

// lower64 returns the first eight bytes of s as a little-endian number, with
// letters in lower case. Some bytes that are not letters change as well.
func lower64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56 | 0x2020202020202020
}

// wordMask selects the first n bytes of a word.
func wordMask(n int) uint64 { return 1<<(8*n) - 1 }

var (
	disallowWord  = lower64("disallow")
	userAgentWord = lower64("user-agent") // without "nt"
	allowWord     = lower64("allow   ") & wordMask(5)
	sitemapWord   = lower64("sitemap ") & wordMask(7)
)

func hasAnyPrefixFold(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && strings.EqualFold(s[:len(p)], p) {
			return true
		}
	}
	return false
}
