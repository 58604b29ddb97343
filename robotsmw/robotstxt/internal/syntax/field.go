package syntax

import "strings"

// A Field is what stands before the colon, as far as it matters to a robot.
type Field uint8

const (
	Other Field = iota // belongs to nobody's standard, or is unknown: never opens, closes or splits a group
	UserAgent
	Allow
	Disallow
	CrawlDelay
	Sitemap
	Blank // no field at all: in [Koster1996], a line that ends a record
)

// FieldOf tells which field a name means, without regard to case.
//
// Site owners misspell, and Google reads the misspellings below; so do we,
// because reading them restricts a robot as the owner meant it. "Allow" has to
// be exact: leniency there would open what somebody meant to shut.
func FieldOf(name string) Field {
	switch name { // as nearly everybody writes them
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

func hasAnyPrefixFold(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && strings.EqualFold(s[:len(p)], p) {
			return true
		}
	}
	return false
}
