package report

import (
	"fmt"
	"strconv"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
)

func ms(d time.Duration) int64 { return d.Milliseconds() }

// number() returns n with commas, as in 10,000. The report's script does the
// same.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n int, noun string) string { return number(n) + " " + cli.Noun(n, noun) }

// seconds() returns a time as 12 ms, 1.50 s or 1:02:03. The argument is the
// time in milliseconds.
func seconds(ms int64) string {
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
