package httptime

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

const (
	// MaxDate is the maximum number of bytes that DatePrefix examines.
	MaxDate = 64

	// maxWholeDate is the length of the longest text that ParseDate reads.
	// JavaScript writes the zone's name, such as "(Central European Standard
	// Time)", after a date.
	maxWholeDate = 128

	space = " \t\r\n\f"

	// httpDate is the form of RFC 9110 §5.6.7, which nearly all servers send.
	httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"
)

// ParseDate parses a text that consists of a date and nothing else. It reads
// the forms of DatePrefix, and others such as:
//
//	Sat Nov 28 2026 01:28:08 GMT+0000 (Coordinated Universal Time)   JavaScript
//	2026-11-28 01:28:08.25 +0000 UTC m=+0.000012                     Go
//	Sat, 28 Nov 2026 23:59:60 GMT                                    a leap second
func ParseDate(s string) (time.Time, bool) {
	if t, err := time.Parse(httpDate, s); err == nil {
		return t, true
	}
	if len(s) > maxWholeDate || !strings.ContainsAny(s, "0123456789") {
		return time.Time{}, false
	}
	s = monotonic.ReplaceAllString(s, "")
	s = zoneInWords.ReplaceAllString(s, "")
	s = zoneTwice.ReplaceAllString(s, "$1")
	s = zoneAndHour.ReplaceAllString(s, "${1}0$2")
	s = zoneAndOffset.ReplaceAllString(s, "$1")
	if t, ok := parseWhole(s); ok {
		return t, true
	}
	if before, isLeapSecond := strings.CutSuffix(leapSecond.FindString(s), ":60"); isLeapSecond {
		t, ok := parseWhole(leapSecond.ReplaceAllString(s, before+":59"))
		return t.Add(time.Second), ok
	}
	return time.Time{}, false
}

var (
	monotonic     = regexp.MustCompile(` m=[+-][0-9.]+$`)               // as [time.Time.String] appends it
	zoneInWords   = regexp.MustCompile(` \([^()]*\)$`)                  // after an offset or another name
	zoneTwice     = regexp.MustCompile(`([+-]\d{4}) [A-Z+-][A-Z0-9]*$`) // as in "+0100 CET"
	zoneAndHour   = regexp.MustCompile(`((?:GMT|UTC)[+-])(\d)$`)        // as in "GMT+2"
	zoneAndOffset = regexp.MustCompile(`(?:GMT|UTC)([+-]\d\d)`)         // as in "GMT+0200"
	leapSecond    = regexp.MustCompile(`\b\d\d:\d\d:60\b`)
)

// DatePrefix returns the longest date at the beginning of s, in UTC, and its
// length in bytes. The length is 0 if s does not begin with a date. A date ends
// at white space, a comma, a semicolon or the end of s. These are examples:
//
//	Fri, 25 Jun 2010 15:00:00 -0800     RFC 822, with or without the weekday
//	Friday, 25-Jun-10 15:00:00 PST      RFC 850
//	Fri Jun 25 15:00:00 2010            C's asctime; a zone may precede the year
//	June 25, 2010 3:00 PM PST
//	2010-06-25T15:00:00,5-08:00         ISO 8601, extended format
//	20100625T230000Z                    ISO 8601, basic format
//	2010-06-25 15:00:00 UTC
//	2010-06-25                          midnight UTC
//
// A date without a zone is UTC. The weekday is not checked.
func DatePrefix(s string) (t time.Time, n int) {
	for n = min(len(s), MaxDate); n > 0; n-- {
		endsInWord := n < len(s) && !endsDate(s[n])
		if endsInWord || endsDate(s[n-1]) {
			continue
		}
		if t, ok := parseWhole(s[:n]); ok {
			return t, n
		}
	}
	return time.Time{}, 0
}

// parseWhole parses a date that has one of the forms of dateLayouts.
func parseWhole(s string) (time.Time, bool) {
	words := dateWords(s)
	if len(words) >= len(dateLayouts) {
		return time.Time{}, false
	}
	text := strings.Join(words, " ")
	for _, layout := range dateLayouts[len(words)] {
		if t, err := time.Parse(layout, text); err == nil && t.UTC().Year() > 0 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func endsDate(c byte) bool { return strings.IndexByte(space+",;", c) >= 0 }

// dateLayouts are layouts for [time.Parse], by the number of their words.
var dateLayouts = func() (byWords [7][]string) {
	for _, zone := range []string{"", " -0700", " -07:00", " -07"} {
		for _, clock := range []string{"", " 15:04:05", " 15:04", " 3:04:05 PM", " 3:04 PM", " 150405", " 1504"} {
			for _, date := range []string{"2 Jan 2006", "2 Jan 06", "Jan 2 2006", "2006-1-2", "2006/1/2", "20060102"} {
				layout := date + clock + zone
				if n := strings.Count(layout, " ") + 1; clock != "" || zone == "" {
					byWords[n] = append(byWords[n], layout)
				}
			}
		}
		for _, clock := range []string{" 15:04:05", " 15:04"} {
			layout := "Jan 2" + clock + zone + " 2006"
			n := strings.Count(layout, " ") + 1
			byWords[n] = append(byWords[n], layout)
		}
	}
	return byWords
}()

var (
	weekday    = regexp.MustCompile(`^\s*(MON|TUE|TUES|WED|WEDNES|THU|THUR|THURS|FRI|SAT|SATUR|SUN)(DAY)?\b\.?`)
	comment    = regexp.MustCompile(`([+-]\d+)\s*\([A-Z]*\)$`) // as in "-0800 (PST)"
	fraction   = regexp.MustCompile(`(:\d\d),(\d)`)
	isoClock   = regexp.MustCompile(`(\d)T(\d)`)
	isoOffset  = regexp.MustCompile(`([:. ]\d+)([+-])`)
	dateLetter = regexp.MustCompile(`-?[A-Z]+\.?-?`)
)

// dateWords converts a date to the form of dateLayouts, and returns its words.
// It removes the weekday, shortens the month to three letters, and replaces the
// name of a zone by its offset, because [time.Parse] would read PST as UTC.
func dateWords(s string) []string {
	s = weekday.ReplaceAllString(strings.ToUpper(s), "")
	s = comment.ReplaceAllString(s, "$1")
	s = fraction.ReplaceAllString(s, "$1.$2")
	s = isoClock.ReplaceAllString(s, "$1 $2")
	s = isoOffset.ReplaceAllString(s, "$1 $2")
	s = dateLetter.ReplaceAllStringFunc(s, func(word string) string {
		name := strings.Trim(word, "-.")
		if offset, ok := zones[name]; ok {
			return " " + offset + " "
		}
		for m := time.January; m <= time.December; m++ {
			full := m.String()
			hasLength := len(name) >= 3 && len(name) <= len(full)
			if hasLength && strings.EqualFold(name, full[:len(name)]) {
				return " " + full[:3] + " "
			}
		}
		if name == "AM" || name == "PM" {
			return " " + name
		}
		return word
	})
	return strings.FieldsFunc(s, func(r rune) bool {
		return r == ',' || strings.ContainsRune(space, r)
	})
}

// zones maps the name of a time zone to its offset. The names are those of RFC
// 822 §5.1, without the military letters, and others that are widely used. If a
// name has several meanings, only one is used: CST is American, as in RFC 822,
// and IST is Indian.
var zones = func() map[string]string {
	m := map[string]string{"NST": "-0330", "NDT": "-0230", "IST": "+0530", "ACST": "+0930", "ACDT": "+1030"}
	for hours, names := range map[int]string{
		-10: "HST",
		-9:  "AKST HDT",
		-8:  "PST AKDT",
		-7:  "MST PDT",
		-6:  "CST MDT",
		-5:  "EST CDT",
		-4:  "AST EDT",
		-3:  "ADT BRT ART",
		0:   "UT UTC GMT Z WET",
		1:   "CET MEZ BST WEST",
		2:   "EET CEST MESZ SAST",
		3:   "MSK EEST",
		7:   "WIB",
		8:   "HKT SGT AWST",
		9:   "JST KST",
		10:  "AEST",
		11:  "AEDT",
		12:  "NZST",
		13:  "NZDT",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = fmt.Sprintf("%+03d00", hours)
		}
	}
	return m
}()
