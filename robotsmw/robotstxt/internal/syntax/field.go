package syntax

import "strings"

// A Field says which field a line has.
type Field uint8

const (
	Other Field = iota // any other field; never begins or ends a group
	UserAgent
	Allow
	Disallow
	CrawlDelay
	Sitemap
	Blank // a blank line, which ends a record in [Koster1996]
)

// FieldOf returns the Field that a name means, ignoring case.
//
// FieldOf accepts the misspellings of User-agent and Disallow that Google's
// parser accepts. It also accepts all names that begin with a spelling of one
// of these two fields. So even a misspelt line restricts robots as its author
// meant. But "Allow" must be spelled exactly, apart from case, because a guess
// could open what the author meant to close.
func FieldOf(name string) Field {
	switch name { // the usual spellings
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

// knownField is a fast path for lines that begin with one of the most frequent
// names and a colon. It returns the Field and the length of the name. For any
// other line, and for a line of fewer than nine bytes, it returns Other.
func knownField(line string) (field Field, length uint32) {
	if len(line) < wordSize+1 {
		return Other, 0
	}
	word := lower64(line)
	switch {
	case word == disallow && line[8] == ':':
		return Disallow, 8
	case word&firstBytes(5) == allow && line[5] == ':':
		return Allow, 5
	case word == userAgen && len(line) > 10 && line[4] == '-' && line[8]|' ' == 'n' && line[9]|' ' == 't' && line[10] == ':':
		return UserAgent, 10
	case word&firstBytes(7) == sitemap && line[7] == ':':
		return Sitemap, 7
	}
	return Other, 0
}

const wordSize = 8

// lower64 returns the first eight bytes of s as a number, with letters in lower
// case. The first byte is in its lowest eight bits. lower64 also changes some
// bytes that are not letters.
func lower64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56 | 0x2020202020202020
}

func firstBytes(n int) uint64 { return 1<<(8*n) - 1 }

var (
	disallow = lower64("disallow")
	userAgen = lower64("user-agen")
	allow    = lower64("allow   ") & firstBytes(5)
	sitemap  = lower64("sitemap ") & firstBytes(7)
)

func hasAnyPrefixFold(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && strings.EqualFold(s[:len(p)], p) {
			return true
		}
	}
	return false
}
