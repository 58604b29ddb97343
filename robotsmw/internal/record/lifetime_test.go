package record

import (
	"net/http"
	"testing"
	"time"
)

// Lifetime follows RFC 9111 §4.2 and §5, but gives no less than 5 minutes and
// no more than 24 hours.
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
		{"max-age in capitals, quoted, among others", http.Header{"Cache-Control": {`public , MAX-AGE="3600", immutable`}}, time.Hour, false},
		{"max-age on the second line", http.Header{"Cache-Control": {"public", "max-age=3600"}}, time.Hour, false},
		{"max-age above the greatest", http.Header{"Cache-Control": {"max-age=604800"}}, 24 * time.Hour, false},
		{"max-age that overflows", http.Header{"Cache-Control": {"max-age=99999999999999999999"}}, 24 * time.Hour, false},
		{"max-age of thousands of years", http.Header{"Cache-Control": {"max-age=10000000000"}}, 24 * time.Hour, false},
		{"max-age below the least", http.Header{"Cache-Control": {"max-age=1"}}, 5 * time.Minute, false},
		{"max-age zero", http.Header{"Cache-Control": {"max-age=0"}}, 5 * time.Minute, false},
		{"max-age that is no number", http.Header{"Cache-Control": {"max-age=soon"}}, 5 * time.Minute, false},
		{"max-age negative", http.Header{"Cache-Control": {"max-age=-1"}}, 5 * time.Minute, false},
		{"max-age twice, different", http.Header{"Cache-Control": {"max-age=3600, max-age=7200"}}, 5 * time.Minute, false},
		{"max-age twice, the same", http.Header{"Cache-Control": {"max-age=3600, max-age=3600"}}, time.Hour, false},
		{"max-age less Age", http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"600"}}, 50 * time.Minute, false},
		{"max-age less Age, used up", http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"3599"}}, 5 * time.Minute, false},
		{"Age that is no number", http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"old"}}, time.Hour, false},
		{"Age that overflows", http.Header{"Cache-Control": {"max-age=3600"}, "Age": {"99999999999999999999"}}, 5 * time.Minute, false},
		{"max-age less the age by Date", http.Header{"Cache-Control": {"max-age=3600"}, "Date": {at(-10 * time.Minute)}}, 50 * time.Minute, false},
		{"Date in the future is no age", http.Header{"Cache-Control": {"max-age=3600"}, "Date": {at(time.Hour)}}, time.Hour, false},
		{"the greater of Age and Date", http.Header{"Cache-Control": {"max-age=3600"}, "Date": {at(-10 * time.Minute)}, "Age": {"1200"}}, 40 * time.Minute, false},
		{"s-maxage is for shared caches", http.Header{"Cache-Control": {"s-maxage=60, max-age=3600"}}, time.Hour, false},
		{"s-maxage alone", http.Header{"Cache-Control": {"s-maxage=60"}}, 24 * time.Hour, true},
		{"no-store", http.Header{"Cache-Control": {"no-store, max-age=3600"}}, 5 * time.Minute, false},
		{"no-cache", http.Header{"Cache-Control": {"no-cache"}}, 5 * time.Minute, false},
		{"no-cache for a field alone", http.Header{"Cache-Control": {`no-cache="Set-Cookie", max-age=3600`}}, time.Hour, false},
		{"Expires", http.Header{"Expires": {at(time.Hour)}}, time.Hour, false},
		{"Expires by the server's own clock", http.Header{"Expires": {at(-9 * time.Hour)}, "Date": {at(-10 * time.Hour)}}, 5 * time.Minute, false},
		{"Expires by a server's clock that is fast", http.Header{"Expires": {at(11 * time.Hour)}, "Date": {at(10 * time.Hour)}}, time.Hour, false},
		{"Expires in the past", http.Header{"Expires": {at(-time.Hour)}}, 5 * time.Minute, false},
		{"Expires of the year 1: DateTime.MinValue of .NET", http.Header{"Expires": {"Mon, 01 Jan 0001 00:00:00 GMT"}, "Date": {at(0)}}, 5 * time.Minute, false},
		{"Expires of the year 1, less Age", http.Header{"Expires": {"Mon, 01 Jan 0001 00:00:00 GMT"}, "Age": {"5"}}, 5 * time.Minute, false},
		{"Expires 0", http.Header{"Expires": {"0"}}, 5 * time.Minute, false},
		{"max-age before Expires", http.Header{"Cache-Control": {"max-age=3600"}, "Expires": {at(-time.Hour)}}, time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, stated := Lifetime(tt.header, now)
			if got != tt.want || stated == tt.silent {
				t.Errorf("%v (stated: %v), want %v (stated: %v)", got, stated, tt.want, !tt.silent)
			}
		})
	}
}

func TestNextTryDoublesFromAMinuteToAnHour(t *testing.T) {
	for n, want := range map[int]time.Duration{
		1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 8: time.Hour, 1 << 30: time.Hour,
	} {
		if got := nextTry(n, 0); got != want {
			t.Errorf("after %d failures: %v, want %v", n, got, want)
		}
	}
	if got := nextTry(5, 90*time.Second); got != 90*time.Second {
		t.Errorf("Retry-After 90 s: %v", got)
	}
	if got := nextTry(1, 1000*time.Hour); got != 24*time.Hour {
		t.Errorf("Retry-After of weeks: %v", got)
	}
}

func FuzzLifetime(f *testing.F) {
	f.Add("max-age=3600, no-cache=\"x\"", "5", "Sun, 01 Mar 2026 12:00:00 GMT", "0")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, cc, age, date, expires string) {
		h := http.Header{"Cache-Control": {cc}, "Age": {age}, "Date": {date}, "Expires": {expires}}
		if d, _ := Lifetime(h, now); d < MinLifetime || d > MaxLifetime {
			t.Errorf("lifetime %v of %v", d, h)
		}
	})
}
