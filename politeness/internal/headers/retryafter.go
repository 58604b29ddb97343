package headers

import (
	"math"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

// RetryAfter does the work of politeness.RetryAfter. Read shortens its result
// to Limiter.MaxRetryAfter.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	lines := h["Retry-After"]
	if len(lines) == 0 {
		return 0, false
	}
	wait := httptime.RetryAfter(lines, h.Get("Date"), now)
	return wait, wait > 0
}

const unlimited time.Duration = math.MaxInt64

// maxField is how many bytes all lines of a field may have together. If they
// have more, the field is malformed.
const maxField = httptime.MaxField

// Lines returns the lines of a field. It returns none if they are too long.
func Lines(h http.Header, name string) []string {
	lines := h[name]
	size := 0
	for _, line := range lines {
		if size += len(line) + len(", "); size > maxField+len(", ") {
			return nil
		}
	}
	return lines
}
