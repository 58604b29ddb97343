package lint

import (
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// knownFields are the known fields in their usual spelling.
var knownFields = []string{
	"User-agent", "Allow", "Disallow", "Sitemap", "Crawl-delay",
	"Request-rate", "Visit-time", "Host", "Clean-param", "Noindex", "Nofollow",
	"Content-Signal", "Content-Usage", "License", "Comment", "Cache-delay", "Robot-version",
}

// withdrawnFields are the known fields, in lower case, that few or no robots
// support today.
var withdrawnFields = map[string]struct {
	severity Severity
	message  string
}{
	"noindex": {
		severity: Warning,
		message: "Google has not supported Noindex in robots.txt since September 2019; " +
			"allow the page, and use noindex in the page or in X-Robots-Tag",
	},
	"nofollow": {
		severity: Warning,
		message: "Google has not supported Nofollow in robots.txt since September 2019; " +
			"use nofollow in the page or in X-Robots-Tag",
	},
	"host": {
		severity: Info,
		message:  "Yandex withdrew Host in March 2018; redirect to the preferred host instead",
	},
	"request-rate": {
		severity: Info,
		message:  "Request-rate is from a draft of 1996; few robots support it, but some support Crawl-delay",
	},
	"visit-time":    {Info, "Visit-time is from a draft of 1996; few robots support it"},
	"robot-version": {Info, "Robot-version is from a draft of 1996; no robot supports it"},
	"cache-delay": {
		severity: Info,
		message:  "no known robot supports Cache-delay; use Cache-Control for the lifetime of robots.txt",
	},
}

// knownField returns the known field with a name, even if the name is
// misspelled. It returns "" if there is none.
func knownField(name string) string {
	for _, known := range knownFields {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	switch syntax.ParseField(name) {
	case syntax.UserAgent:
		return "User-agent"
	case syntax.Disallow:
		return "Disallow"
	case syntax.CrawlDelay:
		return "Crawl-delay"
	}
	// Invisible characters may precede the name, such as a byte order mark that
	// was encoded twice or is in the middle of a file.
	isInvisible := func(r rune) bool { return r >= utf8.RuneSelf }
	if rest := strings.TrimLeftFunc(name, isInvisible); rest != name {
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return ""
		}
		return knownField(rest)
	}
	if len(name) > maxMisspelled {
		return ""
	}
	for _, known := range knownFields {
		if isMisspelling(strings.ToLower(name), strings.ToLower(known)) {
			return known
		}
	}
	return ""
}

// maxMisspelled is the maximum length of a name that may be a misspelling.
const maxMisspelled = 19

// isMisspelling reports whether name may be a misspelling of known. Both are in
// lower case and not empty.
//
// The two may differ in spaces, underscores and hyphens. If name has at least
// four bytes, they may instead differ in one byte that is inserted, missing or
// replaced, in two bytes that are swapped, or in an ending such as "ed". The
// first byte of known must be one of the first two bytes of name.
func isMisspelling(name, known string) bool {
	if !strings.Contains(name[:min(len(name), 2)], known[:1]) {
		return false
	}
	if removeHyphens(name) == removeHyphens(known) {
		return true
	}
	isTooShort := len(name) < 4 || len(name) < len(known)-1
	if isTooShort || len(name) > len(known)+2 {
		return false
	}
	if strings.TrimRight(name, "edsx") == known {
		return true
	}
	return differInOneEdit(name, known)
}

// differInOneEdit reports whether a and b differ in at most one byte that is
// inserted, missing or replaced, or in two adjacent bytes that are swapped.
func differInOneEdit(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	if len(a) == 2 && len(b) == 2 {
		return a[0] == b[1] && a[1] == b[0]
	}
	return len(a) <= 1 && len(b) <= 1
}

func removeHyphens(s string) string { return hyphens.Replace(s) }

var hyphens = strings.NewReplacer("-", "", "_", "", " ", "")
