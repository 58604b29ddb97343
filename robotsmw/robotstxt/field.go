package robotstxt

import "strings"

// A field is what stands before the colon, as far as it matters to a robot.
type field uint8

const (
	fieldOther field = iota // belongs to nobody's standard, or is unknown: never opens, closes or splits a group
	fieldUserAgent
	fieldAllow
	fieldDisallow
	fieldCrawlDelay
	fieldSitemap
	fieldBlank // no field at all: in [Koster1996], a line that ends a record
)

// fieldOf tells which field a name means, without regard to case.
//
// Site owners misspell, and Google reads the misspellings below; so do we, because reading them restricts a
// robot as the owner meant it. "Allow" has to be exact: leniency there would open what somebody meant to shut.
func fieldOf(name string) field {
	switch name { // as nearly everybody writes them
	case "Disallow", "disallow":
		return fieldDisallow
	case "Allow", "allow":
		return fieldAllow
	case "User-agent", "User-Agent", "user-agent":
		return fieldUserAgent
	case "Sitemap", "sitemap":
		return fieldSitemap
	case "Crawl-delay", "Crawl-Delay", "crawl-delay":
		return fieldCrawlDelay
	}
	switch {
	case hasAnyPrefixFold(name, "user-agent", "useragent", "user agent"):
		return fieldUserAgent
	case hasAnyPrefixFold(name, "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
		return fieldDisallow
	case strings.EqualFold(name, "allow"):
		return fieldAllow
	case strings.EqualFold(name, "crawl-delay"), strings.EqualFold(name, "crawldelay"):
		return fieldCrawlDelay
	case strings.EqualFold(name, "sitemap"):
		return fieldSitemap
	}
	return fieldOther
}

func hasAnyPrefixFold(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && strings.EqualFold(s[:len(p)], p) {
			return true
		}
	}
	return false
}
