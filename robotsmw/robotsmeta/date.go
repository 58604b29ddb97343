package robotsmeta

import (
	"strings"
	"time"
)

// maxDate is how many bytes are examined for one date.
const maxDate = 64

// readDate returns the longest date at the beginning of s, in UTC, and its
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
// readDate knows the offsets of zones, unlike [time.Parse] and net/mail, which
// read PST as UTC without an error. A date without a zone is UTC. A year of two
// digits means a year from 1950 to 2049 (RFC 5322 §4.3). The hour may be 24,
// and the seconds may be 60. The weekday is not checked.
func readDate(s string) (t time.Time, n int) {
	if len(s) > maxDate {
		if s = s[:maxDate+1]; !endsDate(s[maxDate]) { // the limit cuts a word: leave that word out
			s = s[:strings.LastIndexAny(s, space+",;")+1]
		} else {
			s = s[:maxDate]
		}
	}
	d := dateReader{s: s}
	d.date()
	if d.end == 0 {
		return time.Time{}, 0
	}
	return d.best, d.end
}

// A dateReader reads the longest date at the beginning of s. What it has read
// so far may already be a complete date, such as a day before its time. It
// remembers where the last complete date ended.
type dateReader struct {
	s string
	i int

	year, month, day  int
	hour, minute, sec int
	nano              int
	offset            int // seconds east of UTC

	best time.Time
	end  int // where the date "best" ends in s; 0 before the first complete date
}

// accept remembers the date that has been read, if a date may end at this place
// in s. It returns false if the calendar has no such date.
func (d *dateReader) accept() bool {
	if d.year < 1 || d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 {
		return false
	}
	midnight := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	if midnight.Day() != d.day { // such as 31 June
		return false
	}
	if d.i == len(d.s) || endsDate(d.s[d.i]) {
		d.best = midnight.Add(time.Duration(d.hour)*time.Hour + time.Duration(d.minute)*time.Minute +
			time.Duration(d.sec-d.offset)*time.Second + time.Duration(d.nano))
		d.end = d.i
	}
	return true
}

func endsDate(c byte) bool { return isSpace(c) || c == ',' || c == ';' }

func (d *dateReader) date() {
	d.spaces()
	if name := d.letters(); name != "" {
		if isWeekday(name) {
			d.skip('.')
			d.spaces()
			d.skip(',')
			d.spaces()
			name = d.letters()
		}
		if name != "" {
			d.monthFirst(name)
			return
		}
	}
	switch n, digits := d.number(); digits {
	case 1, 2:
		d.day = n
		d.gap()
		if d.month = month(d.letters()); d.month == 0 {
			return
		}
		d.skip('.')
		d.gap()
		if !d.readYear() || !d.accept() {
			return
		}
	case 4:
		d.year = n
		sep := d.peek()
		if sep != '-' && sep != '/' {
			return
		}
		d.i++
		d.month, digits = d.number()
		if digits == 0 || digits > 2 || !d.skip(sep) {
			return
		}
		d.day, digits = d.number()
		if digits == 0 || digits > 2 || !d.accept() {
			return
		}
	case 8:
		d.year, d.month, d.day = n/10000, n/100%100, n%100
		if !d.accept() {
			return
		}
	default:
		return
	}
	d.clock()
	d.zone()
}

// monthFirst reads a date such as "June 25, 2010 15:00 PST" or "Jun 25 15:00:00
// PST 2010" from its second word on. The first word is the argument. If it is
// not a month, monthFirst reads nothing.
func (d *dateReader) monthFirst(name string) {
	if d.month = month(name); d.month == 0 {
		return
	}
	d.skip('.')
	d.gap()
	digits := 0
	if d.day, digits = d.number(); digits == 0 || digits > 2 {
		return
	}
	start := d.i
	d.skip(',')
	d.spaces()
	if d.readYear() {
		if d.accept() {
			d.clock()
			d.zone()
		}
		return
	}
	// The year comes last, so the date is incomplete without it.
	d.i = start
	if !d.clock() {
		return
	}
	start = d.i
	d.spaces()
	if name := d.letters(); name != "" {
		offset, ok := zones[strings.ToUpper(name)]
		if !ok {
			return
		}
		d.offset = offset
	} else {
		d.i = start
	}
	d.spaces()
	if d.readYear() {
		d.accept()
	}
}

// readYear reads a year of four or two digits. If there is none, it reads
// nothing and returns false. A number before a colon is not a year, but an
// hour.
func (d *dateReader) readYear() bool {
	start := d.i
	n, digits := d.number()
	if digits != 2 && digits != 4 || d.peek() == ':' {
		d.i = start
		return false
	}
	if digits == 2 {
		n += 1900
		if n < 1950 {
			n += 100
		}
	}
	d.year = n
	return true
}

// clock reads a time of day. If there is none, it reads nothing and returns
// false.
func (d *dateReader) clock() bool {
	start, ok := d.i, false
	if c := d.peek(); c == 'T' || c == 't' {
		d.i++
		ok = d.hours(true)
	} else {
		d.skip(',')
		d.spaces()
		ok = d.i > start && d.hours(false)
	}
	if !ok {
		d.i = start
		d.hour, d.minute, d.sec, d.nano = 0, 0, 0, 0
		return false
	}
	if d.year != 0 {
		d.accept()
	}
	return true
}

// hours reads HH:MM[:SS]. hours(true) also reads HHMM[SS]. Two things may
// follow, in either order: a fraction of a second, and "AM" or "PM".
func (d *dateReader) hours(basic bool) bool {
	n, digits := d.number()
	switch {
	case basic && digits == 6:
		d.hour, d.minute, d.sec = n/10000, n/100%100, n%100
	case basic && digits == 4:
		d.hour, d.minute = n/100, n%100
	case digits == 1 || digits == 2:
		d.hour = n
		if !d.skip(':') {
			return false
		}
		if d.minute, digits = d.number(); digits != 2 {
			return false
		}
		if d.peek() == ':' {
			d.i++
			if d.sec, digits = d.number(); digits != 2 {
				return false
			}
		}
	default:
		return false
	}
	if d.minute > 59 || d.sec > 60 || d.hour > 24 || d.hour == 24 && d.minute+d.sec > 0 {
		return false
	}
	if d.year != 0 {
		d.accept()
	}
	hasHalf := d.half()
	if c := d.peek(); c == '.' || c == ',' {
		start := d.i
		d.i++
		first := d.i
		for scale := 100_000_000; d.i < len(d.s) && isDigit(d.s[d.i]); scale /= 10 {
			d.nano += int(d.s[d.i]-'0') * scale
			d.i++
		}
		// In "15:00:00,360Spider" the comma ends the date.
		if d.i == first || d.i < len(d.s) && isLetter(d.s[d.i]) && d.s[d.i]|0x20 != 'z' {
			d.i, d.nano = start, 0
		}
	}
	if !hasHalf {
		d.half()
	}
	return true
}

// The method "half" reads "AM" or "PM" and adapts the hour. If there is
// neither, or if the hour is not from 1 to 12, it reads nothing and returns
// false.
func (d *dateReader) half() bool {
	start := d.i
	d.spaces()
	half := strings.ToUpper(d.letters())
	if half != "AM" && half != "PM" || d.hour < 1 || d.hour > 12 {
		d.i = start
		return false
	}
	d.hour %= 12
	if half == "PM" {
		d.hour += 12
	}
	if d.year != 0 {
		d.accept()
	}
	return true
}

// zone reads an offset or a zone's name. A name in parentheses may follow the
// offset. An offset may follow a name for UTC, as in GMT+2.
func (d *dateReader) zone() {
	d.spaces()
	if name := d.letters(); name != "" {
		offset, ok := zones[strings.ToUpper(name)]
		if !ok {
			return
		}
		d.offset = offset
		d.accept()
		if offset != 0 {
			return
		}
	}
	sign := 1
	switch d.peek() {
	case '-':
		sign = -1
	case '+':
	default:
		return
	}
	d.i++
	n, digits := d.number()
	hours, minutes := n, 0
	switch {
	case digits == 4:
		hours, minutes = n/100, n%100
	case digits != 1 && digits != 2:
		return
	case d.skip(':'):
		if minutes, digits = d.number(); digits != 2 {
			return
		}
	}
	if hours > 23 || minutes > 59 {
		return
	}
	d.offset = sign * (hours*3600 + minutes*60)
	d.accept()
	d.spaces()
	if d.skip('(') { // as in "-0800 (PST)"
		d.letters()
		if d.skip(')') {
			d.accept()
		}
	}
}

func (d *dateReader) peek() byte {
	if d.i < len(d.s) {
		return d.s[d.i]
	}
	return 0
}

func (d *dateReader) skip(c byte) bool {
	if d.peek() != c || c == 0 {
		return false
	}
	d.i++
	return true
}

func (d *dateReader) spaces() {
	for d.i < len(d.s) && isSpace(d.s[d.i]) {
		d.i++
	}
}

// gap skips what separates the day, the month and the year.
func (d *dateReader) gap() {
	for d.i < len(d.s) && (isSpace(d.s[d.i]) || d.s[d.i] == '-' || d.s[d.i] == ',') {
		d.i++
	}
}

func (d *dateReader) letters() string {
	start := d.i
	for d.i < len(d.s) && isLetter(d.s[d.i]) {
		d.i++
	}
	return d.s[start:d.i]
}

// number reads digits up to the first byte that is not a digit. If there are
// more than nine digits, n has no meaning, but no caller accepts so many.
func (d *dateReader) number() (n, digits int) {
	for d.i < len(d.s) && isDigit(d.s[d.i]) {
		if digits < 9 {
			n = n*10 + int(d.s[d.i]-'0')
		}
		digits++
		d.i++
	}
	return n, digits
}

// abbreviates reports whether s is the beginning of name and has at least three
// letters. It ignores letter case.
func abbreviates(s, name string) bool {
	return len(s) >= 3 && len(s) <= len(name) && strings.EqualFold(s, name[:len(s)])
}

func isWeekday(s string) bool {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if abbreviates(s, day.String()) {
			return true
		}
	}
	return false
}

// month returns the month that s names, or 0.
func month(s string) int {
	for m := time.January; m <= time.December; m++ {
		if abbreviates(s, m.String()) {
			return int(m)
		}
	}
	return 0
}

// zones has the offset of each time zone, in seconds, by the zone's name. The
// names are those of RFC 822 §5.1, and others that are widely used. If a name
// has several meanings, only one counts:
// CST is American, as in RFC 822, and IST is Indian. A military letter other
// than Z says nothing about the offset (RFC 5322 §4.3) and counts as UTC.
var zones = func() map[string]int {
	m := map[string]int{
		"NST": -3*3600 - 1800, "NDT": -2*3600 - 1800, "IST": 5*3600 + 1800, "ACST": 9*3600 + 1800, "ACDT": 10*3600 + 1800,
	}
	for hours, names := range map[int]string{
		-10: "HST", -9: "AKST HDT", -8: "PST AKDT", -7: "MST PDT", -6: "CST MDT", -5: "EST CDT", -4: "AST EDT", -3: "ADT BRT ART",
		0: "UT UTC GMT Z WET", 1: "CET MEZ BST WEST", 2: "EET CEST MESZ SAST", 3: "MSK EEST", 7: "WIB", 8: "HKT SGT AWST",
		9: "JST KST", 10: "AEST", 11: "AEDT", 12: "NZST", 13: "NZDT",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = hours * 3600
		}
	}
	for c := 'A'; c <= 'Y'; c++ {
		if c != 'J' {
			m[string(c)] = 0
		}
	}
	return m
}()
