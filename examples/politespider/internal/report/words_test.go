package report

import "testing"

func TestFormatTime(t *testing.T) {
	for ms, want := range map[int64]string{
		0:         "0 ms",
		999:       "999 ms",
		1_500:     "1.50 s",
		59_000:    "59.00 s",
		61_000:    "1:01",
		3_599_000: "59:59",
		3_723_000: "1:02:03",
	} {
		if got := formatTime(ms); got != want {
			t.Errorf("formatTime(%d) = %q, want %q", ms, got, want)
		}
	}
}
