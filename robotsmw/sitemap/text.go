package sitemap

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goodbots/courtesy/internal/httptime"
)

// cleanLoc returns the URL in the text of an element or a line. Entities have
// been decoded already.
func cleanLoc(text []byte, charset string) string {
	loc := decode(text, charset)
	loc = strings.TrimPrefix(strings.TrimSpace(loc), "\ufeff")
	loc = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, loc)
	trimmed := strings.TrimSpace(loc)
	if len(trimmed) < len(text)/2 {
		trimmed = strings.Clone(trimmed) // the caller keeps it, but not the white space
	}
	return trimmed
}

// decode returns a text in UTF-8. charset is as the XML declaration names it.
func decode(text []byte, charset string) string {
	if isASCII(text) {
		return string(text)
	}
	switch strings.ToLower(charset) {
	case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "windows-1252", "cp1252":
		return decodeWindows1252(text)
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// windows1252 has the characters of the bytes 0x80 to 0x9f. In ISO-8859-1, they
// are control characters, which no author means: browsers read both charsets as
// this one.
const windows1252 = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ"

var highWindows1252 = []rune(windows1252)

func decodeWindows1252(text []byte) string {
	var b strings.Builder
	for _, c := range text {
		r := rune(c)
		if 0x80 <= c && c < 0xa0 {
			r = highWindows1252[c-0x80]
		}
		b.WriteRune(r)
	}
	return b.String()
}

// maxEntity is the length of the longest entity.
const maxEntity = len("&#x0010FFFF;")

// entity decodes the entity at the beginning of s, and returns its text and
// length. The length is 0 if s begins with no entity that XML defines.
func entity(s []byte) (text string, length int) {
	for i, c := range s[:min(len(s), maxEntity)] {
		if c == ';' {
			if r, ok := entityRune(string(s[1:i])); ok {
				return string(r), i + 1
			}
			break
		}
	}
	return "", 0
}

func entityRune(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, isNumber := strings.CutPrefix(name, "#")
	if !isNumber {
		return 0, false
	}
	base := 10
	if hex, isHex := strings.CutPrefix(strings.ToLower(digits), "x"); isHex {
		base, digits = 16, hex
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, false
	}
	return rune(n), true
}

// w3cLayouts are the forms of https://www.w3.org/TR/NOTE-datetime, the most
// frequent ones first. RFC3339 also reads fractions of a second.
var w3cLayouts = []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04Z07:00", "2006-01", "2006"}

// parseDate parses a W3C date, or a date in another form, such as those of RSS.
// The result is zero if the text is no date.
func parseDate(text string) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range w3cLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	t, _ := httptime.ParseDate(text)
	return t.UTC()
}
