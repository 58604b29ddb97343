package robotstxt

import (
	"strconv"
	"strings"
	"time"
)

// CrawlDelay returns the Crawl-delay of the robot's group: how long the site wants a robot to wait between two
// requests. ok is false where the group asks for none, and true with 0 where it says "0". Of several lines the
// greatest delay counts. No standard defines the field; it is read as plain decimal seconds, fractions and all
// ("0.5", "10"), and a line that says something else ("1e3", "0x10", "-1", "soon") is as good as none.
func (r *Rules) CrawlDelay() (delay time.Duration, ok bool) { return max(r.delay-1, 0), r.delay > 0 }

// maxDelay is what a longer delay is read as: nobody will wait it out.
const maxDelay = time.Duration(1<<63 - 2)

// parseDelay reads decimal seconds.
func parseDelay(s string) (time.Duration, bool) {
	if s == "" || s == "." || strings.Trim(s, "0123456789.") != "" || strings.Count(s, ".") > 1 {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || seconds >= maxDelay.Seconds() {
		return maxDelay, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}
