package schedule

import (
	"math"
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want Time
	}{
		{"an ordinary sum", Time(2).Add(3), 5},
		{"a negative duration", Time(2).Add(-3), -1},
		{"never stays never", Never.Add(time.Hour), Never},
		{"a sum that overflows", Time(time.Hour).Add(math.MaxInt64), Forever},
		{"forever and a day", Forever.Add(24 * time.Hour), Forever},
		{"an ordinary product", Time(1).AddTimes(3, 4), 13},
		{"no repetition", Time(1).AddTimes(math.MaxInt64, 0), 1},
		{"a product that overflows", Time(1).AddTimes(math.MaxInt64/2, 3), Forever},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: the result is %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}
