package record

import (
	"testing"
	"time"
	"unsafe"
)

// If the fetch time of a record is more than a minute in the future, it is from
// another clock, so the file is fetched again.
func TestClocks(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rec := &Record{State: Good, Fetched: now, Expires: now.Add(time.Hour)}
	for _, tt := range []struct {
		name string
		at   time.Time
		want Use
	}{
		{"fresh", now.Add(time.Minute), UseFresh},
		{"to be refreshed", now.Add(48 * time.Minute), UseAndRefresh},
		{"expired", now.Add(time.Hour), UseFetch},
		{"fetched a moment from now, by another member's clock", now.Add(-time.Second), UseFresh},
		{"fetched in the future: another clock's record", now.Add(-time.Hour), UseFetch},
	} {
		if got := rec.Use(tt.at); got != tt.want {
			t.Errorf("Use of a record %s = %v, want %v", tt.name, got, tt.want)
		}
	}
	failing := (*Record)(nil).Failed("", now, 503, "", time.Hour)
	for _, tt := range []struct {
		name string
		at   time.Time
		want Use
	}{
		{"failing, the next try not due", now.Add(time.Minute), UseStale},
		{"failing, the next try due", now.Add(time.Hour), UseFetch},
		{"failing since the future", now.Add(-time.Hour), UseFetch},
	} {
		if got := failing.Use(tt.at); got != tt.want {
			t.Errorf("Use of a record %s = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// apart returns t with its wall clock reading advanced by wall and its
// monotonic clock reading by mono. The readings differ on a laptop that sleeps,
// because only the wall clock continues, and after the wall clock has been set.
// No exported function can create such a time.
func apart(t time.Time, wall, mono time.Duration) time.Time {
	t = t.Add(wall)
	*(*int64)(unsafe.Add(unsafe.Pointer(&t), 8)) += int64(mono - wall) // time.Time's ext: the monotonic reading
	return t
}

// A record is refreshed or fetched again when it is due by either clock.
func TestNoRecordIsFreshWhenEitherClockSaysOtherwise(t *testing.T) {
	now := time.Now()
	rec := &Record{State: Good, Fetched: now, Expires: now.Add(time.Hour)}
	for _, tt := range []struct {
		name       string
		wall, mono time.Duration
		want       Use
	}{
		{"fresh", time.Minute, time.Minute, UseFresh},
		{"slept until the refresh is due", 50 * time.Minute, time.Minute, UseAndRefresh},
		{"slept beyond the end", 2 * time.Hour, time.Minute, UseFetch},
		{"clock set back, the refresh is due", time.Minute, 50 * time.Minute, UseAndRefresh},
		{"clock set back, its time is over", time.Minute, 2 * time.Hour, UseFetch},
		// by the monotonic clock, the record is a minute old
		{
			name: "clock set back before the fetch",
			wall: -time.Hour,
			mono: time.Minute,
			want: UseFresh,
		},
	} {
		at := apart(now, tt.wall, tt.mono)
		if got := at.Sub(now); got != tt.mono {
			t.Fatalf("the monotonic readings differ by %v, want %v: the layout of time.Time has changed", got, tt.mono)
		}
		if got := rec.Use(at); got != tt.want {
			t.Errorf("%s: Use = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// The record with the later Failure.Last is newer, regardless of Failure.Since.
func TestNewerIsByTheLatestFailure(t *testing.T) {
	now := time.Now()
	old := (*Record)(nil).Failed("u", now, 503, "x", 0)
	again := old.Failed("u", now.Add(time.Hour), 503, "x", 0)
	if !again.NewerThan(old) || old.NewerThan(again) {
		t.Errorf("NewerThan reports %t for the record of the later failure and %t for the other, want true and false", again.NewerThan(old), old.NewerThan(again))
	}
}
