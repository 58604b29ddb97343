package httptime

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 28, 1, 5, 0, 0, time.UTC)

// TestRetryAfter reads the values that servers send. A value that is not
// understood would be replaced by a back-off of 5 s, although the server had
// requested minutes.
func TestRetryAfter(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	unix := func(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }
	for _, form := range []struct {
		name  string
		waits map[string]time.Duration
	}{
		{"whole seconds", map[string]time.Duration{
			"0": 0, "1": s, "120": 2 * m, "00120": 2 * m, "86400": 24 * h, " 60 ": m, "\"60\"": m, "60;x=y": m, "31536000": 365 * 24 * h,
			"9223372036": 9223372036 * s, "9223372037": maxWait, "99999999999999999999": maxWait,
		}},
		{"a fraction of a second, rounded up", map[string]time.Duration{
			"292.05": 293 * s, "60.0": m, "60.000": m, "0.1": s, "0.999999": s, "1.000001": 2 * s, "59.5": m, "300.75": 301 * s, "0.0": 0, "\"12.5\"": 13 * s,
		}},
		{"RFC 1123 with the name of a zone", map[string]time.Duration{
			"Sat, 28 Nov 2026 01:10:00 GMT": 5 * m, "Sat, 28 Nov 2026 01:10:00 UTC": 5 * m, "Sat, 28 Nov 2026 02:10:00 CET": 5 * m,
			"Fri, 27 Nov 2026 20:10:00 EST": 5 * m, "Fri, 27 Nov 2026 17:10:00 PST": 5 * m, "Sat, 28 Nov 2026 10:10:00 JST": 5 * m,
			"Sat, 28 Nov 2026 04:10:00 MSK": 5 * m, "Sat, 28 Nov 2026 03:10:00 EET": 5 * m, "Sat, 28 Nov 2026 01:10:00 Z": 5 * m,
			"Sat, 28 Nov 2026 01:10:00 ut": 5 * m, "Sat, 28 Nov 2026 01:10:00 UTC ": 5 * m, "Sat, 28 Nov 2026 01:10 UTC": 5 * m,
		}},
		{"RFC 1123 with an offset", map[string]time.Duration{
			"Sat, 28 Nov 2026 01:10:00 +0000": 5 * m, "Sat, 28 Nov 2026 02:10:00 +0100": 5 * m, "Fri, 27 Nov 2026 17:10:00 -0800": 5 * m,
			"Sat, 28 Nov 2026 06:40:00 +0530": 5 * m, "Sat, 28 Nov 2026 02:10:00 +01:00": 5 * m, "Sat, 28 Nov 2026 04:10:00 +03": 5 * m,
			"Sat, 28 Nov 2026 01:10:00 -0000": 5 * m, "28 Nov 2026 01:10:00 +0000": 5 * m, "Sat, 28 Nov 2026 02:10:00 +0100 (CET)": 5 * m,
			"Sat, 28 Nov 2026 02:10:00 GMT+0100": 5 * m, "Sat, 28 Nov 2026 02:10:00 UTC+1": 5 * m,
		}},
		{"other dates of HTTP and RFC 822", map[string]time.Duration{
			"Saturday, 28-Nov-26 01:10:00 GMT": 5 * m, "Saturday, 28-Nov-26 02:10:00 CET": 5 * m, "Sat Nov 28 01:10:00 2026": 5 * m,
			"Sat Nov 28 01:10:00 UTC 2026": 5 * m, "Sat, 28-Nov-2026 01:10:00 GMT": 5 * m, "Sat, 28 Nov 2026 01:10:00": 5 * m,
			"Sun, 6 Dec 2026 01:05:00 GMT": 8 * 24 * h, "28 Nov 2026 01:10:00 GMT": 5 * m, "Sat Nov 28 2026 02:10:00 GMT+0100 (Central European Standard Time)": 5 * m,
			"Sat, 28 Nov 2026 01:09:60 GMT": 5 * m,
		}},
		{"ISO 8601", map[string]time.Duration{
			"2026-11-28T01:10:00Z": 5 * m, "2026-11-28T01:10:00.000Z": 5 * m, "2026-11-28T02:10:00+01:00": 5 * m, "2026-11-28T02:10:00+0100": 5 * m,
			"2026-11-27T17:10:00-08:00": 5 * m, "2026-11-28T01:10Z": 5 * m, "20261128T011000Z": 5 * m, "2026-11-28T01:10:00": 5 * m, "2026-11-28t01:10:00z": 5 * m,
			"\"2026-11-28T01:10:00Z\"": 5 * m,
		}},
		{"a date with a space before the time", map[string]time.Duration{
			"2026-11-28 01:10:00 UTC": 5 * m, "2026-11-28 01:10:00": 5 * m, "2026-11-28 01:10:00 +0000": 5 * m, "2026-11-28 02:10:00 +0100": 5 * m,
			"2026-11-28 02:10:00 CET": 5 * m, "2026-11-28 01:10:00Z": 5 * m, "2026-11-28 01:10:00 +0000 UTC": 5 * m, "2026-11-28 02:10:00 +0100 CET": 5 * m,
			"2026-11-28 01:10:00 +0000 UTC m=+0.000012": 5 * m, "2026-11-28 01:10:00.000000+00:00": 5 * m, "2026/11/28 01:10:00": 5 * m, "2026-11-28 04:10:00 +0300 +03": 5 * m,
		}},
		{"several values", map[string]time.Duration{
			"120, 60": 2 * m, "60, 120": 2 * m, "60,60,60": m, "0, 30": 30 * s, "Sat, 28 Nov 2026 01:10:00 GMT, 60": 5 * m, "60, Sat, 28 Nov 2026 01:10:00 GMT": 5 * m,
			"Sat, 28 Nov 2026 01:06:00 GMT, Sat, 28 Nov 2026 01:10:00 UTC": 5 * m, "600, 2026-11-28T01:10:00Z": 10 * m, "soon, 60": m, "60, soon": m, "-9, 60": m,
			"60,": m, ", 60": m, "1.5, 30s": 30 * s, "60;a=b, 90;c": 90 * s, "292,05": 292 * s, "Saturday, November 28, 2026, 1:10 am, 60": 5 * m,
		}},
		{"a duration", map[string]time.Duration{
			"30s": 30 * s, "5m": 5 * m, "1h": h, "1m30s": 90 * s, "1.5h": 90 * m, "500ms": s, "6m0s": 6 * m, "1h0m0.5s": h + s, "0s": 0, "1µs": s, " 30s": 30 * s,
		}},
		{"seconds since 1970", map[string]time.Duration{
			unix(5 * m): 5 * m, unix(h): h, unix(0): 0, unix(-h): 0, unix(5*m) + ".0": 5 * m, unix(5*m) + ".25": 5*m + s, unix(364 * 24 * h): 364 * 24 * h,
			unix(365 * 24 * h): 365 * 24 * h, unix(-365 * 24 * h): 0, "\"" + unix(m) + "\"": m, unix(m) + ", 30": m,
			unix(366 * 24 * h): time.Duration(now.Unix())*s + 366*24*h, unix(-366 * 24 * h): time.Duration(now.Unix())*s - 366*24*h,
			unix(5*m) + "000": maxWait,
		}},
		{"no wait", map[string]time.Duration{
			"": 0, "-1": 0, "+60": 0, "-60.5": 0, "1e3": 0, "1E3": 0, "0x3c": 0, "60 s": 0, "soon": 0, "never": 0, "ten": 0, "60 seconds": 0, "NaN": 0, "Inf": 0, "1_000": 0, "٣": 0,
			"--5": 0, "5-": 0, "60.": 0, ".5": 0, "1.2.3": 0, "-30s": 0, "+30s": 0, "1d": 0, "0x1s": 0, "1e3s": 0, "PT30S": 0, "null": 0, "true": 0, "60\x00": 0,
			"Sat, 28 Nov 2026 01:00:00 GMT": 0, "2020-01-01T00:00:00Z": 0, "Sat, 31 Nov 2026 01:10:00 GMT": 0, "Sat, 28 Nov 2026 25:10:00 GMT": 0, "Sat, 28 Nov 2026 01:10:00 XYZ": 0,
			"28/11/2026 01:10:00": 0, strings.Repeat("60,", 40): 0, strings.Repeat(" ", MaxField) + "60": 0,
		}},
	} {
		t.Run(form.name, func(t *testing.T) {
			for value, want := range form.waits {
				if got := RetryAfter([]string{value}, "", now); got != want {
					t.Errorf("RetryAfter(%q) = %v, want %v", value, got, want)
				}
			}
		})
	}
}

// TestRetryAfter_Date checks that a date is compared with the Date of the
// response, because a server whose clock is wrong writes both with that clock.
func TestRetryAfter_Date(t *testing.T) {
	const value = "Sat, 28 Nov 2026 03:10:00 GMT"
	for date, want := range map[string]time.Duration{
		"Sat, 28 Nov 2026 03:05:00 GMT":   5 * time.Minute,
		"Sat, 28 Nov 2026 03:05:00 UTC":   5 * time.Minute,
		"Sat, 28 Nov 2026 04:05:00 CET":   5 * time.Minute,
		"Sat, 28 Nov 2026 04:05:00 +0100": 5 * time.Minute,
		"2026-11-28T03:05:00Z":            5 * time.Minute,
		"2026-11-28 03:05:00 +0000 UTC":   5 * time.Minute,
		"Saturday, 28-Nov-26 03:05:00 Z":  5 * time.Minute,
		"Sat Nov 28 03:05:00 2026":        5 * time.Minute,
		"Sat, 28 Nov 2026 03:15:00 GMT":   0,
		"today":                           2*time.Hour + 5*time.Minute,
		"":                                2*time.Hour + 5*time.Minute,
		"0":                               2*time.Hour + 5*time.Minute,
	} {
		if got := RetryAfter([]string{value}, date, now); got != want {
			t.Errorf("RetryAfter with the Date %q = %v, want %v", date, got, want)
		}
	}
	retryAfter := fmt.Sprint(now.Add(time.Hour).Unix())
	fastClock := now.Add(59 * time.Minute).Format(httpDate)
	if got := RetryAfter([]string{retryAfter}, fastClock, now); got != time.Minute {
		t.Errorf("RetryAfter with a Date that is 59 minutes fast = %v, want %v", got, time.Minute)
	}
}

func TestParseReset(t *testing.T) {
	const never = -1
	unix := now.Unix()
	for value, want := range map[string]time.Duration{
		"0": 0, "30": 30 * time.Second, "1.25": 1250 * time.Millisecond, "299": 299 * time.Second, "86400": 24 * time.Hour, "\"30\"": 30 * time.Second, "30;w=60": 30 * time.Second, "999999999": 999999999 * time.Second,

		fmt.Sprint(unix + 60): time.Minute, fmt.Sprint(unix+60) + ".5": 60500 * time.Millisecond, fmt.Sprint(unix): 0, fmt.Sprint(unix - 1): never,
		fmt.Sprint(unix+60, "000"):  never, // a space
		fmt.Sprint(unix+60) + "000": time.Minute, fmt.Sprint(unix+60) + "250": 60250 * time.Millisecond, fmt.Sprint(unix+60) + "000.5": time.Minute, fmt.Sprint(unix-1) + "000": never,
		fmt.Sprint(unix+60) + "000000": time.Minute, fmt.Sprint(unix+60) + "250000": 60250 * time.Millisecond, fmt.Sprint(unix-1) + "000000": never,
		fmt.Sprint(unix+60) + "000000000": time.Minute, fmt.Sprint(unix-1) + "000000000": never, fmt.Sprint(unix+3600) + "000000000": time.Hour,

		"30s": 30 * time.Second, "6m0s": 6 * time.Minute, "17ms": 17 * time.Millisecond, "1h": time.Hour, "1.5s": 1500 * time.Millisecond,

		"Sat, 28 Nov 2026 01:10:00 GMT": 5 * time.Minute, "Sat, 28 Nov 2026 01:10:00 UTC": 5 * time.Minute, "Sat, 28 Nov 2026 02:10:00 +0100": 5 * time.Minute,
		"2026-11-28T01:10:00Z": 5 * time.Minute, "2026-11-28T01:10:00.5+00:00": 300500 * time.Millisecond, "2026-11-28 01:10:00 UTC": 5 * time.Minute, "2026-11-28 01:10:00": 5 * time.Minute, "Sat, 28 Nov 2026 01:00:00 GMT": never,

		"": never, "-30": never, "+30": never, "1e9": never, "soon": never, "0x10": never, "-6m": never, strings.Repeat("9", 20): never, strings.Repeat("9", 400): never,
	} {
		got, ok := ParseReset(value, now)
		if !ok {
			got = never
		}
		// A float64 of nanoseconds since 1970 is precise to 256 ns.
		if difference := (got - want).Abs(); difference >= time.Microsecond || want == never && ok {
			t.Errorf("ParseReset(%q) = %v, want %v (%v means no time)", value, got, want, time.Duration(never))
		}
	}
}

func TestRetryAfter_Allocations(t *testing.T) {
	lines := []string{"60"}
	n := testing.AllocsPerRun(100, func() {
		RetryAfter(lines, "Sat, 28 Nov 2026 01:05:00 GMT", now)
	})
	if n > 0 {
		t.Errorf("RetryAfter allocates %v times, want 0", n)
	}
}

// A server can make every part of a list as long as a date.
func BenchmarkRetryAfter_Hostile(b *testing.B) {
	lines := []string{strings.Repeat("1 a 2 b 3 c 4 d 5 e 6,", maxParts-1)}
	for b.Loop() {
		RetryAfter(lines, "", now)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{
		"120",
		"292.05",
		"Sat, 28 Nov 2026 01:28:08 CET",
		"2026-11-28 01:10:00 UTC",
		"2026-11-28T01:10:00Z",
		"120, 60",
		"30s",
		"1795828800",
		"Friday, June 25, 2010, 12:30 am",
		"Sat, 28 Nov 2026 23:59:60 GMT",
	} {
		f.Add(value, "60", "Sat, 28 Nov 2026 01:05:00 GMT")
	}
	f.Fuzz(func(t *testing.T, one, other, date string) {
		a := RetryAfter([]string{one}, date, now)
		b := RetryAfter([]string{other}, date, now)
		both := RetryAfter([]string{one, other}, date, now)
		if a < 0 || b < 0 {
			t.Fatalf("RetryAfter(%q) = %v and RetryAfter(%q) = %v, want no negative wait", one, a, other, b)
		}
		if both != max(a, b) && !isFlood([]string{one, other}) {
			t.Fatalf("RetryAfter(%q, %q) = %v, want the longer of %v and %v", one, other, both, a, b)
		}
		if reset, ok := ParseReset(one, now); ok && reset < 0 {
			t.Fatalf("ParseReset(%q) = %v, want no negative wait", one, reset)
		}
		if strings.ContainsAny(one, ", ") {
			return
		}
		negative := "-" + strings.TrimLeft(one, "\t\"")
		if got := RetryAfter([]string{negative}, date, now); got != 0 {
			t.Fatalf("RetryAfter(%q) = %v, want 0", negative, got)
		}
	})
}
