package robotsmeta

import (
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

// maxDate is how many bytes are examined for one date.
const maxDate = httptime.MaxDate

// readDate returns the longest date at the beginning of s, in UTC, and its
// length in bytes. The length is 0 if s does not begin with a date.
func readDate(s string) (t time.Time, n int) { return httptime.DatePrefix(s) }
