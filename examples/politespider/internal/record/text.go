package record

import (
	"fmt"
	"time"

	"github.com/goodbots/courtesy/examples/internal/terminal"
)

// Printable is a stranger's text as a line of the output or of the report has
// room for it.
func Printable(s string) string { return terminal.Printable(s, 100) }

// Count is a number of things.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Seconds returns a duration as records have it: exact to the millisecond.
func Seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// Since returns the seconds from then to now.
func Since(then time.Time) float64 { return Seconds(time.Since(then)) }
