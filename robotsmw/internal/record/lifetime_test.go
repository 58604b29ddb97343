package record

import (
	"net/http"
	"testing"
	"time"
)

// Lifetime follows RFC 9111 §4.2 and §5, but returns at least 5 minutes and at
// most 24 hours.
func TestLifetime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
		silent bool // the header does not state a lifetime
	}{
		{"no word", http.Header{}, 24 * time.Hour, true},
		{"Date alone is no word", http.Header{"Date": {at(-time.Hour)}}, 24 * time.Hour, true},
		{"max-age", http.Header{"Cache-Control": {"max-age=3600"}}, time.Hour, false},
		{
			name:   "max-age in capitals, quoted, among others",
			header: http.Header{"Cache-Control": {`public , MAX-AGE="3600", immutable`}},
			want:   time.Hour,
		},
		{
			name:   "max-age on the second line",
			header: http.Header{"Cache-Control": {"public", "max-age=3600"}},
			want:   time.Hour,
		},
		{
			name:   "max-age above the greatest",
			header: http.Header{"Cache-Control": {"max-age=604800"}},
			want:   24 * time.Hour,
		},
		{
			name:   "max-age that overflows",
			header: http.Header{"Cache-Control": {"max-age=99999999999999999999"}},
			want:   24 * time.Hour,
		},
		{
			name:   "max-age of thousands of years",
			header: http.Header{"Cache-Control": {"max-age=10000000000"}},
			want:   24 * time.Hour,
		},
		{
			name:   "max-age below the least",
			header: http.Header{"Cache-Control": {"max-age=1"}},
			want:   5 * time.Minute,
		},
		{"max-age zero", http.Header{"Cache-Control": {"max-age=0"}}, 5 * time.Minute, false},
		{
			name:   "max-age that is no number",
			header: http.Header{"Cache-Control": {"max-age=soon"}},
			want:   5 * time.Minute,
		},
		{"max-age negative", http.Header{"Cache-Control": {"max-age=-1"}}, 5 * time.Minute, false},
		{
			name:   "max-age twice, different",
			header: http.Header{"Cache-Control": {"max-age=3600, max-age=7200"}},
			want:   5 * time.Minute,
		},
		{
			name:   "max-age twice, the same",
			header: http.Header{"Cache-Control": {"max-age=3600, max-age=3600"}},
			want:   time.Hour,
		},
		{
			name:   "max-age less Age",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"600"}},
			want:   50 * time.Minute,
		},
		{
			name:   "max-age less Age, used up",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"3599"}},
			want:   5 * time.Minute,
		},
		{
			name:   "Age that is no number",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"old"}},
			want:   time.Hour,
		},
		{
			name:   "Age that overflows",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"99999999999999999999"}},
			want:   5 * time.Minute,
		},
		{
			name:   "max-age less the age by Date",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Date": {at(-10 * time.Minute)}},
			want:   50 * time.Minute,
		},
		{
			name:   "Date in the future is no age",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Date": {at(time.Hour)}},
			want:   time.Hour,
		},
		{
			name:   "the greater of Age and Date",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Date": {at(-10 * time.Minute)}, "Age": {"1200"}},
			want:   40 * time.Minute,
		},
		{
			name:   "s-maxage is for shared caches",
			header: http.Header{"Cache-Control": {"s-maxage=60, max-age=3600"}},
			want:   time.Hour,
		},
		{"s-maxage alone", http.Header{"Cache-Control": {"s-maxage=60"}}, 24 * time.Hour, true},
		{
			name:   "no-store",
			header: http.Header{"Cache-Control": {"no-store, max-age=3600"}},
			want:   5 * time.Minute,
		},
		{"no-cache", http.Header{"Cache-Control": {"no-cache"}}, 5 * time.Minute, false},
		{
			name:   "no-cache for a field alone",
			header: http.Header{"Cache-Control": {`no-cache="Set-Cookie", max-age=3600`}},
			want:   time.Hour,
		},
		{"Expires", http.Header{"Expires": {at(time.Hour)}}, time.Hour, false},
		{
			name:   "Expires by the server's own clock",
			header: http.Header{"Expires": {at(-9 * time.Hour)}, "Date": {at(-10 * time.Hour)}},
			want:   5 * time.Minute,
		},
		{
			name:   "Expires by a server's clock that is fast",
			header: http.Header{"Expires": {at(11 * time.Hour)}, "Date": {at(10 * time.Hour)}},
			want:   time.Hour,
		},
		{"Expires in the past", http.Header{"Expires": {at(-time.Hour)}}, 5 * time.Minute, false},
		{
			name:   "Expires of the year 1: DateTime.MinValue of .NET",
			header: http.Header{"Expires": {"Mon, 01 Jan 0001 00:00:00 GMT"}, "Date": {at(0)}},
			want:   5 * time.Minute,
		},
		{
			name:   "Expires of the year 1, less Age",
			header: http.Header{"Expires": {"Mon, 01 Jan 0001 00:00:00 GMT"}, "Age": {"5"}},
			want:   5 * time.Minute,
		},
		{"Expires 0", http.Header{"Expires": {"0"}}, 5 * time.Minute, false},
		{
			name:   "max-age before Expires",
			header: http.Header{"Cache-Control": {"max-age=3600"}, "Expires": {at(-time.Hour)}},
			want:   time.Hour,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, stated := Lifetime(tt.header, now)
			if got != tt.want || stated == tt.silent {
				t.Errorf("Lifetime = %v (stated: %v), want %v (stated: %v)", got, stated, tt.want, !tt.silent)
			}
		})
	}
}

func TestNextTryDoublesFromAMinuteToAnHour(t *testing.T) {
	for n, want := range map[int]time.Duration{
		1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 8: time.Hour, 1 << 30: time.Hour,
	} {
		if got := nextTry(n, 0); got != want {
			t.Errorf("nextTry after %d failures = %v, want %v", n, got, want)
		}
	}
	if got := nextTry(5, 90*time.Second); got != 90*time.Second {
		t.Errorf("Retry-After of 90 s: nextTry = %v, want 90s", got)
	}
	if got := nextTry(1, 1000*time.Hour); got != 24*time.Hour {
		t.Errorf("Retry-After of weeks: nextTry = %v, want 24h", got)
	}
}

func FuzzLifetime(f *testing.F) {
	f.Add("max-age=3600, no-cache=\"x\"", "5", "Sun, 01 Mar 2026 12:00:00 GMT", "0")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, cc, age, date, expires string) {
		h := http.Header{"Cache-Control": {cc}, "Age": {age}, "Date": {date}, "Expires": {expires}}
		if d, _ := Lifetime(h, now); d < MinLifetime || d > MaxLifetime {
			t.Errorf("Lifetime = %v, want 5m to 24h, for %v", d, h)
		}
	})
}
