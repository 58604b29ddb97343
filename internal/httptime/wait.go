package httptime

import (
	"math"
	"strings"
	"time"
)

const (
	// MaxField is the maximum number of bytes in all lines of a field together.
	// A field with more is malformed.
	MaxField = 4 << 10

	// maxParts is the maximum number of parts, separated by commas, in all
	// lines of a Retry-After together. A field with more is malformed.
	maxParts = 32

	// maxPartsOfDate is the maximum number of parts, separated by commas, of
	// one date: "Friday, June 25, 2010, 12:30 am" has four.
	maxPartsOfDate = 4

	// A number in Retry-After is a time in seconds since 1970 if that time is
	// within nearPresent of now. As a delay, the number would mean decades.
	nearPresent = 365 * 24 * time.Hour

	maxWait = math.MaxInt64 / time.Second * time.Second
)

// RetryAfter returns the wait that the lines of a Retry-After field request,
// counted from now. It returns 0 if no line requests a wait. A time is compared
// with date, the Date field of the same response, because the server's clock
// determined both. If date is not a valid date, the time is compared with now.
//
// RFC 9110 §10.2.3 has two forms, whole seconds and an HTTP date. RetryAfter
// also reads other dates, fractions of a second (rounded up), seconds since
// 1970, Go's durations such as "1m30s", and several values joined by commas, of
// which the longest counts. Numbers and durations that have a sign or an
// exponent are ignored, as are other words.
func RetryAfter(lines []string, date string, now time.Time) (longest time.Duration) {
	if len(lines) == 0 || isFlood(lines) {
		return 0
	}
	clock := Clock(date, now)
	for _, line := range lines {
		longest = max(longest, maxInLine(line, clock))
	}
	return longest
}

// Clock returns the time of a Date field, or now if date is not a valid date.
func Clock(date string, now time.Time) time.Time {
	if t, ok := ParseDate(date); ok {
		return t
	}
	return now
}

// isFlood reports whether the lines of a field are longer than any real ones.
func isFlood(lines []string) bool {
	size := len(", ") * (len(lines) - 1)
	parts := 0
	for _, line := range lines {
		size += len(line)
		parts += strings.Count(line, ",") + 1
		if size > MaxField || parts > maxParts {
			return true
		}
	}
	return false
}

// maxInLine returns the longest wait in a line, which may be a list. A date
// may contain commas, so that several parts of the line may be one value.
func maxInLine(line string, clock time.Time) (longest time.Duration) {
	if strings.IndexByte(line, ',') < 0 {
		wait, _ := parseWait(line, clock)
		return max(wait, 0)
	}
	parts := strings.Split(line, ",")
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, ";")
	}
	for len(parts) > 0 {
		used := 1
		for n := min(len(parts), maxPartsOfDate); n > 0; n-- {
			if wait, ok := parseWait(strings.Join(parts[:n], ","), clock); ok {
				longest = max(longest, wait)
				used = n
				break
			}
		}
		parts = parts[used:]
	}
	return longest
}

// parseWait parses one value of Retry-After. The result is negative for a time
// in the past.
func parseWait(s string, clock time.Time) (wait time.Duration, ok bool) {
	s = clean(s)
	if n, ok := ParseNumber(s); ok {
		if since := n - float64(clock.Unix()); math.Abs(since) <= nearPresent.Seconds() {
			return time.Unix(int64(math.Ceil(n)), 0).Sub(clock), true
		}
		return roundUp(n), true
	}
	if d, ok := parseDuration(s); ok {
		return roundUp(d.Seconds()), true
	}
	if t, ok := ParseDate(s); ok {
		return t.Sub(clock), true // a difference that does not fit becomes the longest Duration
	}
	return 0, false
}

// roundUp returns a number of seconds as a Duration of whole seconds.
func roundUp(seconds float64) time.Duration {
	n := math.Ceil(seconds)
	if n >= maxWait.Seconds() {
		return maxWait
	}
	return time.Duration(n) * time.Second
}

// ParseReset parses a value of X-RateLimit-Reset or a similar field, and
// returns how long after clock a quota is renewed. The value may be a number of
// seconds from now, a time in seconds, milliseconds, microseconds or
// nanoseconds since 1970, a duration such as "6m0s", or a date. No quota lasts
// for 30 years, so the size of a number determines which of these it is. For a
// time in the past, ParseReset returns false.
func ParseReset(s string, clock time.Time) (time.Duration, bool) {
	s = clean(s)
	if n, ok := ParseNumber(s); ok {
		return resetOfNumber(n, clock)
	}
	if d, ok := parseDuration(s); ok {
		return d, true
	}
	if t, ok := ParseDate(s); ok {
		d := t.Sub(clock)
		return d, d >= 0
	}
	return 0, false
}

// resetOfNumber is ParseReset for a number. The size of a number determines its
// unit, because seconds since 1970 are less than 1e11 until the year 5138.
// Until then, milliseconds are from 1e11 to 1e14, and so on.
func resetOfNumber(n float64, clock time.Time) (time.Duration, bool) {
	const leastTime, leastMilli, leastMicro, leastNano = 1e9, 1e11, 1e14, 1e17
	var t time.Time
	switch {
	case n < leastTime:
		return time.Duration(math.Ceil(n*1000)) * time.Millisecond, true
	case n < leastMilli:
		t = time.UnixMilli(int64(n * 1000))
	case n < leastMicro:
		t = time.UnixMilli(int64(n))
	case n < leastNano:
		t = time.UnixMicro(int64(n))
	case n < math.MaxInt64:
		t = time.Unix(0, int64(n))
	default:
		return 0, false // nanoseconds after 2262
	}
	d := t.Sub(clock) // a difference that does not fit becomes the longest Duration
	return d, d >= 0
}

// ParseNumber parses a decimal number, such as 60 or 292.05. It may have no
// sign and no exponent.
func ParseNumber(s string) (n float64, ok bool) {
	weight := 0.0 // of the next digit after the point; 0 before the point
	for i := range len(s) {
		c := s[i]
		isInner := i > 0 && i < len(s)-1
		if c == '.' && weight == 0 && isInner {
			weight = 0.1
			continue
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		if weight == 0 {
			n = n*10 + float64(c-'0')
			continue
		}
		n += float64(c-'0') * weight
		weight /= 10
	}
	return n, s != ""
}

// parseDuration parses a duration as Go writes it, without a sign.
func parseDuration(s string) (time.Duration, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// clean returns a list value without its parameters, its quotes, and the white
// space around it.
func clean(s string) string {
	value, _, _ := strings.Cut(s, ";")
	return strings.Trim(value, " \t\"")
}
