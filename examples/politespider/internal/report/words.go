package report

import (
	"fmt"
	"time"
)

// ms returns a duration in milliseconds.
func ms(d time.Duration) int64 { return d.Milliseconds() }

// formatTime formats a duration in milliseconds as 12 ms, 1.50 s or 1:02:03.
func formatTime(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	}
}
