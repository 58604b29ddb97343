package robotsmeta

import (
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

// maxDate is the maximum number of bytes that are examined to find a date.
const maxDate = httptime.MaxDate

// parseDatePrefix parses the longest prefix of s that is a date. It returns the
// date in UTC, and the length of the prefix, which is 0 if there is none.
func parseDatePrefix(s string) (t time.Time, length int) { return httptime.DatePrefix(s) }
