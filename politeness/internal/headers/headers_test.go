package headers

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fields() returns a header with the given lines, such as "RateLimit: x".
func fields(lines ...string) http.Header {
	h := make(http.Header)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestQuota(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	epoch := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	spent := func(d time.Duration) Quota { return Quota{Pause: d + time.Second} }
	left := func(n int, d time.Duration) Quota {
		return Quota{Spread: d / time.Duration(n), RenewsIn: d + time.Second}
	}
	const none = time.Duration(0)
	for _, tt := range []struct {
		name   string
		header http.Header
		want   Quota
	}{
		// These are the fields of draft-ietf-httpapi-ratelimit-headers-11. Some
		// have the form of an older version of this draft, from 07 to 10.
		{"RateLimit", fields(`RateLimit: "default";r=50;t=30`), left(50, 30*time.Second)},
		{"it is spent", fields(`RateLimit: "default";r=0;t=30`), spent(30 * time.Second)},
		{"it is spent for less than a second", fields(`RateLimit: "default";r=0;t=0`), spent(none)},
		{
			name:   "a partition key, and an unknown parameter",
			header: fields(`RateLimit: "a, \"b\";c";pk=:cHsdsRa894==:;x="r=0";r=5;t=10;y=?1`),
			want:   left(5, 10*time.Second),
		},
		{
			name:   "of a parameter given twice the last counts",
			header: fields(`RateLimit: "default";r=0;t=30;r=10`),
			want:   left(10, 30*time.Second),
		},
		{
			name:   "the strictest of several",
			header: fields(`RateLimit: "burst";r=99;t=60, "day";r=10;t=3600 , "hour";r=99;t=600`),
			want:   left(10, time.Hour),
		},
		{
			name:   "in several lines",
			header: fields(`RateLimit: "burst";r=99;t=60`, `RateLimit: "day";r=10;t=3600`),
			want:   left(10, time.Hour),
		},
		{
			name:   "one is spent, another is not",
			header: fields(`RateLimit: "burst";r=0;t=60, "day";r=10;t=3600`),
			want: Quota{
				Pause:    61 * time.Second,
				Spread:   6 * time.Minute,
				RenewsIn: time.Hour + time.Second,
			},
		},
		{
			name:   "a name that is a token, before version 10",
			header: fields(`RateLimit: default;r=50;t=30`),
			want:   left(50, 30*time.Second),
		},
		{
			name:   "version 07",
			header: fields(`RateLimit: limit=100, remaining=50, reset=30`),
			want:   left(50, 30*time.Second),
		},
		{
			name:   "version 07, spent",
			header: fields(`RateLimit: limit=100,remaining=0,reset=5`),
			want:   spent(5 * time.Second),
		},
		{"longer than the cap", fields(`RateLimit: "default";r=0;t=999999999999999`), spent(day)},
		{
			name:   "longer than the cap, not spent",
			header: fields(`RateLimit: "default";r=2;t=999999999999999`),
			want:   left(2, day),
		},

		{
			name:   "a policy tells the window of what has no time",
			header: fields(`RateLimit: "default";r=0`, `RateLimit-Policy: "default";q=10;w=60`),
			want:   spent(time.Minute),
		},
		{
			name:   "another policy does not",
			header: fields(`RateLimit: "default";r=0`, `RateLimit-Policy: "Default";q=10`),
			want:   Quota{},
		},
		{
			name:   "a policy alone is spread evenly",
			header: fields(`RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`),
			want:   left(1000, day),
		},
		{
			name: "a policy of whose quota we are told is not",
			header: fields(
				`RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`,
				`RateLimit: "daily";r=900;t=90`,
			),
			want: left(100, time.Minute),
		},
		{
			name:   "a policy that lets nobody in",
			header: fields(`RateLimit-Policy: "default";q=0;w=60`),
			want:   spent(time.Minute),
		},
		{
			name:   "a policy on bytes",
			header: fields(`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`),
			want:   Quota{},
		},
		{
			name: "a policy on bytes, of which some are left",
			header: fields(
				`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`,
				`RateLimit: "default";r=1;t=30`,
			),
			want: Quota{},
		},
		{
			name: "a policy on bytes, of which none is left",
			header: fields(
				`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`,
				`RateLimit: "default";r=0;t=30`,
			),
			want: spent(30 * time.Second),
		},
		{
			name:   "a policy on requests, so named",
			header: fields(`RateLimit-Policy: "default";q=10;qu="requests";w=60`),
			want:   left(10, time.Minute),
		},
		{"a policy without a window", fields(`RateLimit-Policy: "default";q=10`), Quota{}},

		// These are the fields of the draft up to its version 06, and fields
		// that are older than the draft.
		{
			name: "RateLimit-Remaining",
			header: fields(
				"RateLimit-Limit: 100",
				"RateLimit-Remaining: 50",
				"RateLimit-Reset: 30",
			),
			want: left(50, 30*time.Second),
		},
		{
			name:   "RateLimit-Remaining, spent",
			header: fields("RateLimit-Remaining: 0", "RateLimit-Reset: 30"),
			want:   spent(30 * time.Second),
		},
		{
			name:   "X-RateLimit in seconds",
			header: fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 30"),
			want:   spent(30 * time.Second),
		},
		{
			name: "X-RateLimit as Reddit has it",
			header: fields(
				"X-Ratelimit-Remaining: 598.0",
				"X-Ratelimit-Used: 2",
				"X-Ratelimit-Reset: 299",
			),
			want: left(598, 299*time.Second),
		},
		{
			name: "X-RateLimit as GitHub has it",
			header: fields(
				"X-RateLimit-Limit: 60",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(10*time.Minute),
			),
			want: spent(10 * time.Minute),
		},
		{
			name: "by the server's own clock",
			header: fields(
				"Date: Sun, 22 Nov 2026 12:09:00 GMT",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(10*time.Minute),
			),
			want: spent(time.Minute),
		},
		{
			name: "X-RateLimit in milliseconds since 1970",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Minute)+"500",
			),
			want: spent(time.Minute + 500*time.Millisecond),
		},
		{
			name: "X-RateLimit in microseconds since 1970",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Minute)+"500000",
			),
			want: spent(time.Minute + 500*time.Millisecond),
		},
		{
			name: "X-RateLimit in nanoseconds since 1970",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Minute)+"000000000",
			),
			want: spent(time.Minute),
		},
		{
			name:   "X-RateLimit with a duration",
			header: fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 6m0s"),
			want:   spent(6 * time.Minute),
		},
		{
			name: "X-RateLimit with a zone's name, by a Date with another",
			header: fields(
				"Date: Sun, 22 Nov 2026 13:04:00 CET",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 UTC",
			),
			want: spent(time.Minute),
		},
		{
			name: "X-RateLimit as Discord has it",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Hour)+".5",
				"X-RateLimit-Reset-After: 1.25",
			),
			want: spent(1250 * time.Millisecond),
		},
		{
			name: "X-RateLimit with a date",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 GMT",
			),
			want: spent(5 * time.Minute),
		},
		{
			name:   "X-RateLimit with a date of another form",
			header: fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 2026-11-22T12:05:00Z"),
			want:   spent(5 * time.Minute),
		},
		{
			name:   "X-Rate-Limit",
			header: fields("X-Rate-Limit-Remaining: 0", "X-Rate-Limit-Reset: "+epoch(time.Minute)),
			want:   spent(time.Minute),
		},
		{
			name:   "the last second that is a delta",
			header: fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 999999999"),
			want:   spent(day),
		},
		{
			name:   "the first second that is a time, long past",
			header: fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1000000000"),
			want:   Quota{},
		},
		{
			name:   "a time beyond the cap",
			header: fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(48*time.Hour)),
			want:   spent(day),
		},
		{
			name: "a date beyond the cap",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2099 12:05:00 GMT",
			),
			want: spent(day),
		},
		{
			name:   "several in a field",
			header: fields("X-RateLimit-Remaining: 10, 0;w=1", "X-RateLimit-Reset: 1, 60"),
			want: Quota{
				Pause:    61 * time.Second,
				Spread:   100 * time.Millisecond,
				RenewsIn: 2 * time.Second,
			},
		},
		{
			name: "a second's and a month's, as Brave has them",
			header: fields(
				"X-RateLimit-Limit: 1, 15000",
				"X-RateLimit-Policy: 1;w=1, 15000;w=2592000",
				"X-RateLimit-Remaining: 0, 14523",
				"X-RateLimit-Reset: 1, 40000",
			),
			want: Quota{
				Pause:    2 * time.Second,
				Spread:   40000 * time.Second / 14523,
				RenewsIn: 40001 * time.Second,
			},
		},
		{
			name:   "the month's is spent",
			header: fields("X-RateLimit-Remaining: 1, 0", "X-RateLimit-Reset: 1, 1419704"),
			want:   Quota{Pause: day + time.Second, Spread: time.Second, RenewsIn: 2 * time.Second},
		},
		{
			name: "several in lines of their own",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Remaining: 60",
				"X-RateLimit-Reset: 1",
				"X-RateLimit-Reset: 3600",
			),
			want: Quota{
				Pause:    2 * time.Second,
				Spread:   time.Minute,
				RenewsIn: time.Hour + time.Second,
			},
		},
		{
			name:   "several left and one time",
			header: fields("X-RateLimit-Remaining: 10, 0", "X-RateLimit-Reset: 60"),
			want:   spent(time.Minute),
		},
		{
			name: "several left and a date",
			header: fields(
				"X-RateLimit-Remaining: 10, 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 GMT",
			),
			want: spent(5 * time.Minute),
		},
		{
			name: "eight",
			header: fields(
				"X-RateLimit-Remaining: 9,9,9,9,9,9,9,0",
				"X-RateLimit-Reset: 1,1,1,1,1,1,1,60",
			),
			want: Quota{
				Pause:    61 * time.Second,
				Spread:   time.Second / 9,
				RenewsIn: 2 * time.Second,
			},
		},
		{
			name: "more than anybody has",
			header: fields(
				"X-RateLimit-Remaining: 9,9,9,9,9,9,9,9,0",
				"X-RateLimit-Reset: 1,1,1,1,1,1,1,1,60",
			),
			want: spent(time.Minute),
		},

		// Docker sends the window of a quota, but no time of its renewal.
		{
			name: "Docker's quota is spent",
			header: fields(
				"RateLimit-Limit: 100;w=21600",
				"RateLimit-Remaining: 0;w=21600",
				"Docker-RateLimit-Source: 192.0.2.1",
			),
			want: spent(6 * time.Hour),
		},
		{
			name:   "some of Docker's quota is left",
			header: fields("RateLimit-Limit: 100;w=21600", "RateLimit-Remaining: 76;w=21600"),
			want:   Quota{},
		},
		{"a window with white space", fields("RateLimit-Remaining: 0 ; w=60"), spent(time.Minute)},
		{
			name:   "a window among other parameters",
			header: fields(`RateLimit-Remaining: 0;comment="x";w=60`),
			want:   spent(time.Minute),
		},
		{
			name:   "the spent one of two windows",
			header: fields("RateLimit-Remaining: 9;w=1, 0;w=3600"),
			want:   spent(time.Hour),
		},
		{
			name:   "the longer of two spent windows, in two lines",
			header: fields("RateLimit-Remaining: 0;w=60", "RateLimit-Remaining: 0;w=3600"),
			want:   spent(time.Hour),
		},
		{"X-RateLimit with a window", fields("X-RateLimit-Remaining: 0;w=60"), spent(time.Minute)},
		{
			name:   "X-Rate-Limit with a window",
			header: fields("X-Rate-Limit-Remaining: 0;w=60"),
			want:   spent(time.Minute),
		},
		{"a window longer than the cap", fields("RateLimit-Remaining: 0;w=2592000"), spent(day)},
		{"a window of no time", fields("RateLimit-Remaining: 0;w=0"), spent(none)},
		{
			name:   "a window, of which a cache has used up 20 s",
			header: fields("Age: 20", "RateLimit-Remaining: 0;w=60"),
			want:   spent(40 * time.Second),
		},
		{
			name:   "a window and a time: the time counts",
			header: fields("RateLimit-Remaining: 0;w=3600", "RateLimit-Reset: 30"),
			want:   spent(30 * time.Second),
		},
		{
			name:   "a window and a time that cannot be read",
			header: fields("RateLimit-Remaining: 0;w=60", "RateLimit-Reset: soon"),
			want:   spent(time.Minute),
		},
		{"a window that is no number", fields("RateLimit-Remaining: 0;w=soon"), Quota{}},
		{"a negative window", fields("RateLimit-Remaining: 0;w=-60"), Quota{}},
		{"another parameter", fields("RateLimit-Remaining: 0;window=60"), Quota{}},
		{"a window of no number", fields("RateLimit-Remaining: none;w=60"), Quota{}},

		// These responses come from a cache, except the last one.
		{
			name:   "it was spent when it was stored",
			header: fields("Age: 61", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"),
			want:   Quota{},
		},
		{
			name:   "it still is",
			header: fields("Age: 20", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"),
			want:   spent(40 * time.Second),
		},
		{
			name: "by the clock of then",
			header: fields(
				"Date: Sun, 22 Nov 2026 11:50:00 GMT",
				"Age: 600",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(-time.Minute),
			),
			want: Quota{},
		},
		{
			name:   "RateLimit was spent when it was stored",
			header: fields("Age: 61", `RateLimit: "default";r=0;t=60`),
			want:   Quota{},
		},
		{
			name:   "a policy is not of one moment",
			header: fields("Age: 61", `RateLimit-Policy: "default";q=10;w=60`),
			want:   left(10, time.Minute),
		},
		{
			name: "an age longer than any",
			header: fields(
				"Age: 99999999999999999999",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 60",
			),
			want: Quota{},
		},
		{
			name:   "an age that is none",
			header: fields("Age: old", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"),
			want:   spent(time.Minute),
		},
		{
			name: "of all forms the strictest",
			header: fields(
				`RateLimit: "default";r=50;t=30`,
				"RateLimit-Remaining: 10",
				"RateLimit-Reset: 100",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 3",
			),
			want: Quota{
				Pause:    4 * time.Second,
				Spread:   10 * time.Second,
				RenewsIn: 101 * time.Second,
			},
		},

		// Among these cases, only "a limit of 0 for some time" has a quota.
		{"nothing", fields("Content-Type: text/html"), Quota{}},
		{"no time", fields(`RateLimit: "default";r=0`), Quota{}},
		{"no number", fields(`RateLimit: "default";t=30`), Quota{}},
		{"no remaining", fields("X-RateLimit-Limit: 60", "X-RateLimit-Reset: 30"), Quota{}},
		{"no reset", fields("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0"), Quota{}},
		{
			name:   "a time that is past",
			header: fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(-time.Second)),
			want:   Quota{},
		},
		{
			name: "a date that is past",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 11:59:59 GMT",
			),
			want: Quota{},
		},
		{"without limit", fields("X-RateLimit-Remaining: -1", "X-RateLimit-Reset: 30"), Quota{}},
		{
			name: "without limit, as Tyk says so",
			header: fields(
				"X-RateLimit-Limit: 0",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 0",
			),
			want: Quota{},
		},
		{
			name: "a limit of 0 for some time",
			header: fields(
				"X-RateLimit-Limit: 0",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 30",
			),
			want: spent(30 * time.Second),
		},
		{"a word", fields("X-RateLimit-Remaining: unlimited", "X-RateLimit-Reset: soon"), Quota{}},
		{"an exponent", fields("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1e9"), Quota{}},
		{
			name: "an end that no clock has",
			header: fields(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+strings.Repeat("9", 400),
			),
			want: Quota{},
		},

		// No part of a malformed field counts.
		{"a negative number", fields(`RateLimit: "default";r=-1;t=30`), Quota{}},
		{"a decimal", fields(`RateLimit: "default";r=0.5;t=30`), Quota{}},
		{"a string for a number", fields(`RateLimit: "default";r="0";t=30`), Quota{}},
		{"a parameter without a value", fields(`RateLimit: "default";r;t=30`), Quota{}},
		{"16 digits", fields(`RateLimit: "default";r=0;t=1000000000000000`), Quota{}},
		{"a number for a name", fields(`RateLimit: 5;r=0;t=30`), Quota{}},
		{"an inner list", fields(`RateLimit: ("default");r=0;t=30`), Quota{}},
		{"an open string", fields(`RateLimit: "default;r=0;t=30`), Quota{}},
		{"a comma at the end", fields(`RateLimit: "default";r=0;t=30,`), Quota{}},
		{"two items without a comma", fields(`RateLimit: "default";r=0;t=30 "other"`), Quota{}},
		{
			name:   "a fault after a good item",
			header: fields(`RateLimit: "default";r=0;t=30, "other";r=x y`),
			want:   Quota{},
		},
		{
			name:   "a fault in another line",
			header: fields(`RateLimit: "default";r=0;t=30`, `RateLimit: ;`),
			want:   Quota{},
		},
		{"an upper-case parameter", fields(`RateLimit: "default";R=0;t=30`), Quota{}},
		{"a byte that is not ASCII", fields("RateLimit: \"d\u00e9fault\";r=0;t=30"), Quota{}},
		{
			name:   "more than anybody reads",
			header: fields(`RateLimit: "` + strings.Repeat("x", 4<<10) + `";r=0;t=30`),
			want:   Quota{},
		},
		{"version 07, with a fault", fields(`RateLimit: limit=100, remaining=x, reset=5`), Quota{}},
		{
			name: "a malformed field, and a good one of another form",
			header: fields(
				`RateLimit: "default`,
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 3",
			),
			want: spent(3 * time.Second),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readQuota(tt.header, 0, now, day); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

const day = 24 * time.Hour

func readQuota(h http.Header, others int64, now time.Time, most time.Duration) Quota {
	return Read(h, now, most).Quota(others)
}

// Other requests in flight are subtracted from the quota, because the server
// has presumably not counted them yet.
func TestQuota_WithOthersInFlight(t *testing.T) {
	h, policy := fields(`RateLimit: "default";r=5;t=60`), fields(`RateLimit-Policy: "default";q=5;w=60`)
	for others, want := range map[int64]Quota{
		0: {Spread: 12 * time.Second, RenewsIn: 61 * time.Second},
		1: {Spread: 15 * time.Second, RenewsIn: 61 * time.Second},
		5: {Pause: 61 * time.Second},
		9: {Pause: 61 * time.Second},
	} {
		if got := readQuota(h, others, time.Now(), day); got != want {
			t.Errorf("%d others: %+v, want %+v", others, got, want)
		}
		if got := readQuota(policy, others, time.Now(), day); got != want {
			t.Errorf("%d others, by the policy alone: %+v, want %+v", others, got, want)
		}
	}
}

// Most responses have none of these fields, and cost nothing. The other budgets
// are twice what the fields take.
func TestQuotas_Allocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range []struct {
		header http.Header
		most   float64
	}{
		{fields("Content-Type: text/html", "Server: x", "Date: Sun, 22 Nov 2026 12:09:00 GMT"), 0},
		{fields("Retry-After: 60", "Date: Sun, 22 Nov 2026 12:09:00 GMT"), 0},
		{
			header: fields(
				`RateLimit: "default";r=50;t=30`,
				`RateLimit-Policy: "default";q=100;w=60, "x";q=5;qu="content-bytes"`,
			),
			most: 42,
		},
		{fields("X-RateLimit-Remaining: 598.0", "X-RateLimit-Reset: 299"), 6},
	} {
		now := time.Now()
		if n := testing.AllocsPerRun(100, func() { Read(tt.header, now, day) }); n > tt.most {
			t.Errorf("%v: %v allocations, %v may be", tt.header, n, tt.most)
		}
	}
}

// A server can send a field as long as it likes. Of one that is longer than any
// real one, nothing counts.
func TestQuotas_Floods(t *testing.T) {
	const name, lines = 4 << 10, 560_000
	now := time.Now()
	for what, h := range map[string]http.Header{
		"items of RateLimit": {
			"Ratelimit": {strings.Repeat(`"a";r=0;t=9,`, name/12) + `"b";r=0;t=9`},
		},
		"items of RateLimit-Policy": {
			"Ratelimit-Policy": {strings.Repeat(`"a";q=0;w=9,`, name/12) + `"b";q=0;w=9`},
		},
		"times of a quota": {
			"X-Ratelimit-Remaining": {"0"},
			"X-Ratelimit-Reset":     {strings.Repeat("9,", name/2) + "9,9"},
		},
		"numbers of a quota": {
			"X-Ratelimit-Remaining": {strings.Repeat("0,", name/2) + "0,0"},
			"X-Ratelimit-Reset":     {"9"},
		},
		"lines of a quota": {
			"X-Ratelimit-Remaining": {"0"},
			"X-Ratelimit-Reset":     slices.Repeat([]string{"9"}, lines),
		},
		"lines of Retry-After": {"Retry-After": slices.Repeat([]string{"9"}, lines)},
		"empty lines":          {"Retry-After": append(make([]string, lines), "9")},
	} {
		if a := Read(h, now, day); a.RetryAfter != 0 || a.Quotas != nil {
			t.Errorf("%s: %+v", what, a)
		}
	}
	// Nor does a long Date: the time that the server names is taken by our own
	// clock then.
	h := http.Header{"Retry-After": {now.Add(time.Minute).UTC().Format(http.TimeFormat)}, "Date": {strings.Repeat(" ", name) + now.UTC().Format(http.TimeFormat)}}
	if wait, ok := RetryAfter(h, now.Truncate(time.Second)); !ok || wait != time.Minute {
		t.Errorf("%v, %t", wait, ok)
	}
}

func BenchmarkQuota(b *testing.B) {
	for name, h := range map[string]http.Header{
		"none": fields(
			"Content-Type: text/html",
			"Server: x",
			"Date: y",
			"Etag: z",
			"Cache-Control: a",
			"Vary: b",
			"Age: c",
		),
		"RateLimit": fields(
			`RateLimit: "default";r=50;t=30`,
			`RateLimit-Policy: "default";q=100;w=60`,
		),
		"X": fields("X-RateLimit-Remaining: 598", "X-RateLimit-Reset: 299"),
	} {
		b.Run(name, func(b *testing.B) {
			now := time.Now()
			for b.Loop() {
				readQuota(h, 0, now, day)
			}
		})
	}
}

func FuzzQuota(f *testing.F) {
	f.Add("RateLimit",
		`"default";r=50;t=30, "day";r=0;t=3600`, "RateLimit-Policy", `"default";q=100;w=60`)
	f.Add("RateLimit", `limit=100, remaining=50, reset=5`, "X-RateLimit-Remaining", "0")
	f.Add("X-RateLimit-Remaining", "0, 1.5", "X-RateLimit-Reset", "1795348800")
	f.Add("X-RateLimit-Remaining", "0, 1500", "X-RateLimit-Reset", "1, 1419704")
	f.Add("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "Sun, 22 Nov 2026 12:05:00 GMT")
	f.Add("RateLimit-Policy",
		`a;q=0;w=1;qu="requests", b;x=%"\";y=?0;z=@1;v=:QQ==:`, "RateLimit-Remaining", "9")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		h := make(http.Header)
		h.Add(name1, value1)
		h.Add(name2, value2)
		now := time.Unix(1_795_348_800, 0)
		q := readQuota(h, 0, now, day)
		if q.Pause < 0 || q.Pause > day+time.Second || q.Spread < 0 || q.Spread > q.RenewsIn || q.RenewsIn > day+time.Second || q.Spread == 0 && q.RenewsIn != 0 {
			t.Fatalf("%+v", q)
		}
		if busy := readQuota(h, 3, now, day); busy.Pause < q.Pause {
			t.Fatalf("with others in flight %+v, without %+v", busy, q)
		}
		// If a part of a field is malformed, the parts before it are ignored
		// too.
		if name1 == "RateLimit" {
			h := http.Header{"Ratelimit": {value1, "\x00"}}
			if q := readQuota(h, 0, now, day); q != (Quota{}) {
				t.Fatalf("malformed, but %+v", q)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("-1", "")
	f.Add("9223372037", "")
	f.Add("Sat, 21 Nov 2026 12:05:00 GMT", "Sat, 21 Nov 2026 12:00:00 GMT")
	f.Add("Saturday, 21-Nov-26 12:05:00 GMT", "today")
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value, date string) {
		d, ok := RetryAfter(map[string][]string{"Retry-After": {value}, "Date": {date}}, now)
		if ok != (d > 0) || d < 0 {
			t.Errorf("%q, %q: %v, %v", value, date, d, ok)
		}
	})
}
