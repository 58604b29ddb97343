package sitemap

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goodbots/courtesy/internal/httptime"
)

// cleanLoc returns the URL in a line, or in the text of an element after its
// entities have been decoded. charset is as for decode.
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
		trimmed = strings.Clone(trimmed) // so that the white space is not retained
	}
	return trimmed
}

// decode converts a text to UTF-8. charset is the charset in the XML
// declaration, or "" if there is none.
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

// windows1252 contains the characters of the bytes 0x80 to 0x9f. In ISO-8859-1,
// these bytes are control characters, so browsers treat ISO-8859-1 as
// Windows-1252.
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

// maxEntity is the maximum length of an entity in bytes. A longer one is text.
const maxEntity = len("&#x0010FFFF;")

// entity returns the text and the length of the entity at the beginning of s.
// The length is 0 if s does not begin with an entity of XML.
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
		base = 16
		digits = hex
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return 0, false
	}
	return rune(n), true
}

// w3cLayouts contains the formats of https://www.w3.org/TR/NOTE-datetime, with
// the most frequent ones first. RFC3339 includes fractions of a second.
var w3cLayouts = []string{
	time.RFC3339,
	time.DateOnly,
	"2006-01-02T15:04Z07:00",
	"2006-01",
	"2006",
}

// parseDate parses a W3C date, or a date in another format, such as that of
// RSS. It returns the zero time if the text is not a date.
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
