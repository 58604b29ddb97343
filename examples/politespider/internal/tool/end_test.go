package tool

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"120":                           2 * time.Minute,
		" 3 ":                           3 * time.Second,
		"-1":                            0,
		"soon":                          0,
		"99999999999999999999":          0,
		"Sat, 21 Nov 2026 12:01:00 GMT": time.Minute,
		"Sat, 21 Nov 2026 11:59:00 GMT": 0,
	} {
		if got := retryAfter(&http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After: %s is %v, want %v", value, got, want)
		}
	}
}
