package headers

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// header returns a header with lines such as "RateLimit: x".
func header(lines ...string) http.Header {
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
	spent := func(d time.Duration) Quota { return Quota{Pause: min(d+time.Second, day)} }
	left := func(n int, d time.Duration) Quota {
		return Quota{Spread: d / time.Duration(n), RenewsIn: min(d+time.Second, day)}
	}
	const none = time.Duration(0)
	for _, tt := range []struct {
		name   string
		header http.Header
		want   Quota
	}{
		// These are the fields of draft-ietf-httpapi-ratelimit-headers-11. Some
		// have the form of an older version of this draft, from 07 to 10.
		{"RateLimit", header(`RateLimit: "default";r=50;t=30`), left(50, 30*time.Second)},
		{"a spent quota", header(`RateLimit: "default";r=0;t=30`), spent(30 * time.Second)},
		{"a quota that is spent for less than a second", header(`RateLimit: "default";r=0;t=0`), spent(none)},
		{
			name:   "a partition key and an unknown parameter",
			header: header(`RateLimit: "a, \"b\";c";pk=:cHsdsRa894==:;x="r=0";r=5;t=10;y=?1`),
			want:   left(5, 10*time.Second),
		},
		{
			name:   "a repeated parameter",
			header: header(`RateLimit: "default";r=0;t=30;r=10`),
			want:   left(10, 30*time.Second),
		},
		{
			name:   "several quotas",
			header: header(`RateLimit: "burst";r=99;t=60, "day";r=10;t=3600 , "hour";r=99;t=600`),
			want:   left(10, time.Hour),
		},
		{
			name:   "quotas in several lines",
			header: header(`RateLimit: "burst";r=99;t=60`, `RateLimit: "day";r=10;t=3600`),
			want:   left(10, time.Hour),
		},
		{
			name:   "a spent quota and another",
			header: header(`RateLimit: "burst";r=0;t=60, "day";r=10;t=3600`),
			want: Quota{
				Pause:    61 * time.Second,
				Spread:   6 * time.Minute,
				RenewsIn: time.Hour + time.Second,
			},
		},
		{
			name:   "a name that is a token (before version 10)",
			header: header(`RateLimit: default;r=50;t=30`),
			want:   left(50, 30*time.Second),
		},
		{
			name:   "version 07",
			header: header(`RateLimit: limit=100, remaining=50, reset=30`),
			want:   left(50, 30*time.Second),
		},
		{
			name:   "a spent quota of version 07",
			header: header(`RateLimit: limit=100,remaining=0,reset=5`),
			want:   spent(5 * time.Second),
		},
		{"a time longer than the maximum", header(`RateLimit: "default";r=0;t=999999999999999`), spent(day)},
		{
			name:   "a time longer than the maximum of a quota that is not spent",
			header: header(`RateLimit: "default";r=2;t=999999999999999`),
			want:   Quota{Spread: day, RenewsIn: day},
		},
		{
			name:   "a quota per month, which is renewed after the maximum",
			header: header(`RateLimit: "month";r=1000;t=2592000`),
			want:   left(1000, 30*day),
		},
		{
			name:   "a policy per month",
			header: header(`RateLimit-Policy: "month";q=1000;w=2592000`),
			want:   left(1000, 30*day),
		},

		{
			name:   "a quota without a time and a policy",
			header: header(`RateLimit: "default";r=0`, `RateLimit-Policy: "default";q=10;w=60`),
			want:   spent(time.Minute),
		},
		{
			name:   "a quota without a time and another policy",
			header: header(`RateLimit: "default";r=0`, `RateLimit-Policy: "Default";q=10`),
			want:   Quota{},
		},
		{
			name:   "a policy without a quota",
			header: header(`RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`),
			want:   left(1000, day),
		},
		{
			name: "a policy with a quota",
			header: header(
				`RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`,
				`RateLimit: "daily";r=900;t=90`,
			),
			want: left(100, time.Minute),
		},
		{
			name:   "a policy with a quota of 0",
			header: header(`RateLimit-Policy: "default";q=0;w=60`),
			want:   spent(time.Minute),
		},
		{
			name:   "a policy on bytes",
			header: header(`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`),
			want:   Quota{},
		},
		{
			name: "a policy on bytes with a remaining quota",
			header: header(
				`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`,
				`RateLimit: "default";r=1;t=30`,
			),
			want: Quota{},
		},
		{
			name: "a policy on bytes with a spent quota",
			header: header(
				`RateLimit-Policy: "default";q=100000;qu="content-bytes";w=60`,
				`RateLimit: "default";r=0;t=30`,
			),
			want: spent(30 * time.Second),
		},
		{
			name:   "a policy on requests",
			header: header(`RateLimit-Policy: "default";q=10;qu="requests";w=60`),
			want:   left(10, time.Minute),
		},
		{"a policy without a window", header(`RateLimit-Policy: "default";q=10`), Quota{}},

		// These are the fields of the draft up to its version 06, and fields
		// that are older than the draft.
		{
			name: "RateLimit-Remaining",
			header: header(
				"RateLimit-Limit: 100",
				"RateLimit-Remaining: 50",
				"RateLimit-Reset: 30",
			),
			want: left(50, 30*time.Second),
		},
		{
			name:   "a spent RateLimit-Remaining",
			header: header("RateLimit-Remaining: 0", "RateLimit-Reset: 30"),
			want:   spent(30 * time.Second),
		},
		{
			name:   "X-RateLimit in seconds",
			header: header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 30"),
			want:   spent(30 * time.Second),
		},
		{
			name: "X-RateLimit of Reddit",
			header: header(
				"X-Ratelimit-Remaining: 598.0",
				"X-Ratelimit-Used: 2",
				"X-Ratelimit-Reset: 299",
			),
			want: left(598, 299*time.Second),
		},
		{
			name: "X-RateLimit of GitHub",
			header: header(
				"X-RateLimit-Limit: 60",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(10*time.Minute),
			),
			want: spent(10 * time.Minute),
		},
		{
			name: "a Date that differs from the local clock",
			header: header(
				"Date: Sun, 22 Nov 2026 12:09:00 GMT",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(10*time.Minute),
			),
			want: spent(time.Minute),
		},
		{
			name: "X-RateLimit in milliseconds since 1970",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Minute)+"500",
			),
			want: spent(time.Minute + 500*time.Millisecond),
		},
		{
			name: "X-RateLimit in microseconds since 1970",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Minute)+"500000",
			),
			want: spent(time.Minute + 500*time.Millisecond),
		},
		{
			name: "X-RateLimit in nanoseconds since 1970",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Minute)+"000000000",
			),
			want: spent(time.Minute),
		},
		{
			name:   "X-RateLimit with a duration",
			header: header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 6m0s"),
			want:   spent(6 * time.Minute),
		},
		{
			name: "X-RateLimit with a date in another time zone than Date",
			header: header(
				"Date: Sun, 22 Nov 2026 13:04:00 CET",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 UTC",
			),
			want: spent(time.Minute),
		},
		{
			name: "X-RateLimit of Discord",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(time.Hour)+".5",
				"X-RateLimit-Reset-After: 1.25",
			),
			want: spent(1250 * time.Millisecond),
		},
		{
			name: "X-RateLimit with a date",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 GMT",
			),
			want: spent(5 * time.Minute),
		},
		{
			name:   "X-RateLimit with a date in another format",
			header: header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 2026-11-22T12:05:00Z"),
			want:   spent(5 * time.Minute),
		},
		{
			name:   "X-Rate-Limit",
			header: header("X-Rate-Limit-Remaining: 0", "X-Rate-Limit-Reset: "+epoch(time.Minute)),
			want:   spent(time.Minute),
		},
		{
			name:   "the greatest number that is a duration",
			header: header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 999999999"),
			want:   spent(day),
		},
		{
			name:   "the smallest number that is a time",
			header: header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1000000000"),
			want:   Quota{},
		},
		{
			name:   "a time after the maximum",
			header: header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(48*time.Hour)),
			want:   spent(day),
		},
		{
			name: "a date after the maximum",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2099 12:05:00 GMT",
			),
			want: spent(day),
		},
		{
			name:   "several quotas in a field",
			header: header("X-RateLimit-Remaining: 10, 0;w=1", "X-RateLimit-Reset: 1, 60"),
			want: Quota{
				Pause:    61 * time.Second,
				Spread:   100 * time.Millisecond,
				RenewsIn: 2 * time.Second,
			},
		},
		{
			name: "a quota per second and one per month, as Brave has them",
			header: header(
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
			name:   "a spent quota per month",
			header: header("X-RateLimit-Remaining: 1, 0", "X-RateLimit-Reset: 1, 1419704"),
			want:   Quota{Pause: day, Spread: time.Second, RenewsIn: 2 * time.Second},
		},
		{
			name: "several quotas in lines",
			header: header(
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
			name:   "several quotas and one time",
			header: header("X-RateLimit-Remaining: 10, 0", "X-RateLimit-Reset: 60"),
			want:   spent(time.Minute),
		},
		{
			name: "several quotas and a date",
			header: header(
				"X-RateLimit-Remaining: 10, 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 12:05:00 GMT",
			),
			want: spent(5 * time.Minute),
		},
		{
			name: "eight quotas",
			header: header(
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
			name: "nine quotas",
			header: header(
				"X-RateLimit-Remaining: 9,9,9,9,9,9,9,9,0",
				"X-RateLimit-Reset: 1,1,1,1,1,1,1,1,60",
			),
			want: spent(time.Minute),
		},

		// Docker sends the window of a quota, but no time of its renewal.
		{
			name: "a spent quota of Docker",
			header: header(
				"RateLimit-Limit: 100;w=21600",
				"RateLimit-Remaining: 0;w=21600",
				"Docker-RateLimit-Source: 192.0.2.1",
			),
			want: spent(6 * time.Hour),
		},
		{
			name:   "a remaining quota of Docker",
			header: header("RateLimit-Limit: 100;w=21600", "RateLimit-Remaining: 76;w=21600"),
			want:   Quota{},
		},
		{"a window with white space", header("RateLimit-Remaining: 0 ; w=60"), spent(time.Minute)},
		{
			name:   "a window among other parameters",
			header: header(`RateLimit-Remaining: 0;comment="x";w=60`),
			want:   spent(time.Minute),
		},
		{
			name:   "two windows, one of which is spent",
			header: header("RateLimit-Remaining: 9;w=1, 0;w=3600"),
			want:   spent(time.Hour),
		},
		{
			name:   "two spent windows in two lines",
			header: header("RateLimit-Remaining: 0;w=60", "RateLimit-Remaining: 0;w=3600"),
			want:   spent(time.Hour),
		},
		{"X-RateLimit with a window", header("X-RateLimit-Remaining: 0;w=60"), spent(time.Minute)},
		{
			name:   "X-Rate-Limit with a window",
			header: header("X-Rate-Limit-Remaining: 0;w=60"),
			want:   spent(time.Minute),
		},
		{"a window longer than the maximum", header("RateLimit-Remaining: 0;w=2592000"), spent(day)},
		{"a window of no time", header("RateLimit-Remaining: 0;w=0"), spent(none)},
		{
			name:   "a window in a response that is 20 seconds old",
			header: header("Age: 20", "RateLimit-Remaining: 0;w=60"),
			want:   spent(40 * time.Second),
		},
		{
			name:   "a window and a time",
			header: header("RateLimit-Remaining: 0;w=3600", "RateLimit-Reset: 30"),
			want:   spent(30 * time.Second),
		},
		{
			name:   "a window and an invalid time",
			header: header("RateLimit-Remaining: 0;w=60", "RateLimit-Reset: soon"),
			want:   spent(time.Minute),
		},
		{"a window that is no number", header("RateLimit-Remaining: 0;w=soon"), Quota{}},
		{"a negative window", header("RateLimit-Remaining: 0;w=-60"), Quota{}},
		{"another parameter", header("RateLimit-Remaining: 0;window=60"), Quota{}},
		{"a window of no number", header("RateLimit-Remaining: none;w=60"), Quota{}},

		// These responses come from a cache, except the last one.
		{
			name:   "a quota that was renewed while the response was in a cache",
			header: header("Age: 61", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"),
			want:   Quota{},
		},
		{
			name:   "a spent quota in a response from a cache",
			header: header("Age: 20", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"),
			want:   spent(40 * time.Second),
		},
		{
			name: "a date in a response from a cache",
			header: header(
				"Date: Sun, 22 Nov 2026 11:50:00 GMT",
				"Age: 600",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+epoch(-time.Minute),
			),
			want: Quota{},
		},
		{
			name:   "a RateLimit that was renewed while the response was in a cache",
			header: header("Age: 61", `RateLimit: "default";r=0;t=60`),
			want:   Quota{},
		},
		{
			name:   "a policy in a response from a cache",
			header: header("Age: 61", `RateLimit-Policy: "default";q=10;w=60`),
			want:   left(10, time.Minute),
		},
		{
			name: "an Age that would overflow",
			header: header(
				"Age: 99999999999999999999",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 60",
			),
			want: Quota{},
		},
		{
			name:   "an invalid Age",
			header: header("Age: old", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 60"),
			want:   spent(time.Minute),
		},
		{
			name: "several forms",
			header: header(
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
		{"no field", header("Content-Type: text/html"), Quota{}},
		{"a quota without a time", header(`RateLimit: "default";r=0`), Quota{}},
		{"a time without a quota", header(`RateLimit: "default";t=30`), Quota{}},
		{"a limit without a remaining quota", header("X-RateLimit-Limit: 60", "X-RateLimit-Reset: 30"), Quota{}},
		{"a remaining quota without a time", header("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 0"), Quota{}},
		{
			name:   "a time in the past",
			header: header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+epoch(-time.Second)),
			want:   Quota{},
		},
		{
			name: "a date in the past",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: Sun, 22 Nov 2026 11:59:59 GMT",
			),
			want: Quota{},
		},
		{"a negative quota", header("X-RateLimit-Remaining: -1", "X-RateLimit-Reset: 30"), Quota{}},
		{
			name: "an unlimited quota of Tyk",
			header: header(
				"X-RateLimit-Limit: 0",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 0",
			),
			want: Quota{},
		},
		{
			name: "a limit of 0 for some time",
			header: header(
				"X-RateLimit-Limit: 0",
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 30",
			),
			want: spent(30 * time.Second),
		},
		{"a word", header("X-RateLimit-Remaining: unlimited", "X-RateLimit-Reset: soon"), Quota{}},
		{"an exponent", header("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1e9"), Quota{}},
		{
			name: "a time that would overflow",
			header: header(
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: "+strings.Repeat("9", 400),
			),
			want: Quota{},
		},

		// No part of a malformed field counts.
		{"a negative number", header(`RateLimit: "default";r=-1;t=30`), Quota{}},
		{"a decimal", header(`RateLimit: "default";r=0.5;t=30`), Quota{}},
		{"a string for a number", header(`RateLimit: "default";r="0";t=30`), Quota{}},
		{"a parameter without a value", header(`RateLimit: "default";r;t=30`), Quota{}},
		{"16 digits", header(`RateLimit: "default";r=0;t=1000000000000000`), Quota{}},
		{"a number for a name", header(`RateLimit: 5;r=0;t=30`), Quota{}},
		{"an inner list", header(`RateLimit: ("default");r=0;t=30`), Quota{}},
		{"an open string", header(`RateLimit: "default;r=0;t=30`), Quota{}},
		{"a comma at the end", header(`RateLimit: "default";r=0;t=30,`), Quota{}},
		{"two items without a comma", header(`RateLimit: "default";r=0;t=30 "other"`), Quota{}},
		{
			name:   "an invalid item after a valid one",
			header: header(`RateLimit: "default";r=0;t=30, "other";r=x y`),
			want:   Quota{},
		},
		{
			name:   "an invalid item in another line",
			header: header(`RateLimit: "default";r=0;t=30`, `RateLimit: ;`),
			want:   Quota{},
		},
		{"an upper-case parameter", header(`RateLimit: "default";R=0;t=30`), Quota{}},
		{"a byte that is not ASCII", header("RateLimit: \"d\u00e9fault\";r=0;t=30"), Quota{}},
		{
			name:   "a field that is too long",
			header: header(`RateLimit: "` + strings.Repeat("x", 4<<10) + `";r=0;t=30`),
			want:   Quota{},
		},
		{"an invalid field of version 07", header(`RateLimit: limit=100, remaining=x, reset=5`), Quota{}},
		{
			name: "an invalid field and a valid one of another form",
			header: header(
				`RateLimit: "default`,
				"X-RateLimit-Remaining: 0",
				"X-RateLimit-Reset: 3",
			),
			want: spent(3 * time.Second),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readQuota(tt.header, 0, now, day); got != tt.want {
				t.Errorf("the Quota is %+v, want %+v", got, tt.want)
			}
		})
	}
}

const day = 24 * time.Hour

// readQuota returns the Quota of a header with the given number of other
// requests in flight.
func readQuota(h http.Header, others int64, now time.Time, maxPause time.Duration) Quota {
	return Read(h, now, maxPause).Quota(others)
}

// TestQuota_OthersInFlight checks that other requests in flight are subtracted
// from the quota, because the server may not have counted them yet.
func TestQuota_OthersInFlight(t *testing.T) {
	quota := header(`RateLimit: "default";r=5;t=60`)
	policy := header(`RateLimit-Policy: "default";q=5;w=60`)
	for others, want := range map[int64]Quota{
		0: {Spread: 12 * time.Second, RenewsIn: 61 * time.Second},
		1: {Spread: 15 * time.Second, RenewsIn: 61 * time.Second},
		5: {Pause: 61 * time.Second},
		9: {Pause: 61 * time.Second},
	} {
		if got := readQuota(quota, others, time.Now(), day); got != want {
			t.Errorf("with %d others, the Quota is %+v, want %+v", others, got, want)
		}
		if got := readQuota(policy, others, time.Now(), day); got != want {
			t.Errorf("with %d others, the Quota of the policy is %+v, want %+v", others, got, want)
		}
	}
}

// TestRead_Allocs checks that a response without these fields takes no
// allocations. The other budgets are twice what the fields take.
func TestRead_Allocs(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range []struct {
		header    http.Header
		maxAllocs float64
	}{
		{header("Content-Type: text/html", "Server: x", "Date: Sun, 22 Nov 2026 12:09:00 GMT"), 0},
		{header("Retry-After: 60", "Date: Sun, 22 Nov 2026 12:09:00 GMT"), 0},
		{
			header: header(
				`RateLimit: "default";r=50;t=30`,
				`RateLimit-Policy: "default";q=100;w=60, "x";q=5;qu="content-bytes"`,
			),
			maxAllocs: 42,
		},
		{header("X-RateLimit-Remaining: 598.0", "X-RateLimit-Reset: 299"), 6},
	} {
		now := time.Now()
		if n := testing.AllocsPerRun(100, func() { Read(tt.header, now, day) }); n > tt.maxAllocs {
			t.Errorf("Read(%v) makes %v allocations, want at most %v", tt.header, n, tt.maxAllocs)
		}
	}
}

// TestQuotas_Floods checks that fields that are longer than any real one are
// ignored.
func TestQuotas_Floods(t *testing.T) {
	const size = 4 << 10 // in bytes
	const lines = 560_000
	now := time.Now()
	for name, h := range map[string]http.Header{
		"items of RateLimit": {
			"Ratelimit": {strings.Repeat(`"a";r=0;t=9,`, size/12) + `"b";r=0;t=9`},
		},
		"items of RateLimit-Policy": {
			"Ratelimit-Policy": {strings.Repeat(`"a";q=0;w=9,`, size/12) + `"b";q=0;w=9`},
		},
		"times of a quota": {
			"X-Ratelimit-Remaining": {"0"},
			"X-Ratelimit-Reset":     {strings.Repeat("9,", size/2) + "9,9"},
		},
		"numbers of a quota": {
			"X-Ratelimit-Remaining": {strings.Repeat("0,", size/2) + "0,0"},
			"X-Ratelimit-Reset":     {"9"},
		},
		"lines of a quota": {
			"X-Ratelimit-Remaining": {"0"},
			"X-Ratelimit-Reset":     slices.Repeat([]string{"9"}, lines),
		},
		"lines of Retry-After": {"Retry-After": slices.Repeat([]string{"9"}, lines)},
		"empty lines":          {"Retry-After": append(make([]string, lines), "9")},
	} {
		if d := Read(h, now, day); d.RetryAfter != 0 || d.Quotas != nil {
			t.Errorf("Read of %s = %+v, want no delay", name, d)
		}
	}
	// A Date that is too long is also ignored. Retry-After is then relative to
	// the local clock.
	h := http.Header{
		"Retry-After": {now.Add(time.Minute).UTC().Format(http.TimeFormat)},
		"Date":        {strings.Repeat(" ", size) + now.UTC().Format(http.TimeFormat)},
	}
	if wait, ok := RetryAfter(h, now.Truncate(time.Second)); !ok || wait != time.Minute {
		t.Errorf("RetryAfter with a long Date = %v, %t, want %v, true", wait, ok, time.Minute)
	}
}

func BenchmarkQuota(b *testing.B) {
	for name, h := range map[string]http.Header{
		"none": header(
			"Content-Type: text/html",
			"Server: x",
			"Date: y",
			"Etag: z",
			"Cache-Control: a",
			"Vary: b",
			"Age: c",
		),
		"RateLimit": header(
			`RateLimit: "default";r=50;t=30`,
			`RateLimit-Policy: "default";q=100;w=60`,
		),
		"X": header("X-RateLimit-Remaining: 598", "X-RateLimit-Reset: 299"),
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
		const maxWait = day + time.Second
		if q.Pause < 0 || q.Pause > maxWait {
			t.Fatalf("the Quota is %+v, want a Pause from 0 to %v", q, maxWait)
		}
		if q.Spread < 0 || q.Spread > q.RenewsIn || q.RenewsIn > maxWait {
			t.Fatalf("the Quota is %+v, want a Spread from 0 to RenewsIn, of at most %v", q, maxWait)
		}
		if q.Spread == 0 && q.RenewsIn != 0 {
			t.Fatalf("the Quota is %+v, want no RenewsIn without a Spread", q)
		}
		if busy := readQuota(h, 3, now, day); busy.Pause < q.Pause {
			t.Fatalf("with others in flight, the Quota is %+v, want a Pause of at least %v", busy, q.Pause)
		}
		// If a part of a field is invalid, the whole field is ignored.
		if name1 == "RateLimit" {
			h := http.Header{"Ratelimit": {value1, "\x00"}}
			if q := readQuota(h, 0, now, day); q != (Quota{}) {
				t.Fatalf("the Quota of an invalid field is %+v, want none", q)
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
			t.Errorf("RetryAfter(%q) with the Date %q = %v, %t, want a positive delay or 0, false",
				value, date, d, ok)
		}
	})
}
