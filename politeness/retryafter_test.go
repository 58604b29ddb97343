package politeness

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

func retryIn(seconds string) http.Header { return http.Header{"Retry-After": {seconds}} }

// Each row is a Retry-After with the Date of the response.
func TestRetryAfter_Forms(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const date = "Sat, 21 Nov 2026 12:00:00 GMT"
	tests := []struct {
		name, value, date string
		want              time.Duration // 0 means no usable Retry-After
	}{
		{"seconds", "120", "", 2 * time.Minute},
		{"seconds in blanks and quotes", ` "30" `, "", 30 * time.Second},
		{"zero requests no wait", "0", "", 0},
		{"negative", "-1", "", 0},
		{"signed", "+5", "", 0},
		{"a fraction is rounded up", "1.5", "", 2 * time.Second},
		{"the name of a zone", "Sat, 21 Nov 2026 13:05:00 CET", date, 5 * time.Minute},
		{"several values", "60, Sat, 21 Nov 2026 12:05:00 GMT", date, 5 * time.Minute},
		{"a duration", "5m0s", "", 5 * time.Minute},
		{"seconds since 1970", strconv.FormatInt(now.Add(5*time.Minute).Unix(), 10), "", 5 * time.Minute},
		{"no number", "soon", "", 0},
		{"empty", "", "", 0},
		{"wraps around in nanoseconds", "9223372037", "", schedule.Unlimited / time.Second * time.Second},
		{"wraps around in 64 bits", "18446744073709551617", "", schedule.Unlimited / time.Second * time.Second},
		{"a hundred digits", strings.Repeat("9", 100), "", schedule.Unlimited / time.Second * time.Second},
		{"IMF-fixdate", "Sat, 21 Nov 2026 12:05:00 GMT", date, 5 * time.Minute},
		{"RFC 850", "Saturday, 21-Nov-26 12:05:00 GMT", date, 5 * time.Minute},
		{"asctime", "Sat Nov 21 12:05:00 2026", date, 5 * time.Minute},
		{"numeric zone", "Sat, 21 Nov 2026 13:05:00 +0100", date, 5 * time.Minute},
		{"without a zone is UTC", "Sat, 21 Nov 2026 12:05:00", date, 5 * time.Minute},
		{"RFC 3339", "2026-11-21T12:05:00Z", date, 5 * time.Minute},
		{"ISO without a zone", "2026-11-21 12:05:00", date, 5 * time.Minute},
		{"past", "Sat, 21 Nov 2026 11:59:00 GMT", date, 0},
		{"RFC 850 of the last century", "Sunday, 06-Nov-94 08:49:37 GMT", date, 0},
		{"without Date, by our clock", "Sat, 21 Nov 2026 12:05:00 GMT", "", 5 * time.Minute},
		{"the server's clock is an hour fast", "Sat, 21 Nov 2026 13:05:00 GMT", "Sat, 21 Nov 2026 13:00:00 GMT", 5 * time.Minute},
		{"the server's clock is an hour slow", "Sat, 21 Nov 2026 11:05:00 GMT", "Sat, 21 Nov 2026 11:00:00 GMT", 5 * time.Minute},
		{"an unreadable Date", "Sat, 21 Nov 2026 12:05:00 GMT", "today", 5 * time.Minute},
		{"the year 9999", "Fri, 31 Dec 9999 23:59:59 GMT", date, schedule.Unlimited},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{"Retry-After": {tt.value}}
			if tt.date != "" {
				h.Set("Date", tt.date)
			}
			got, ok := RetryAfter(h, now)
			if got != tt.want || ok != (tt.want > 0) {
				t.Errorf("RetryAfter = %v, %t; want %v, %t", got, ok, tt.want, tt.want > 0)
			}
		})
	}
	if got, _ := RetryAfter(http.Header{"Retry-After": {"5", "60", "x"}}, now); got != time.Minute {
		t.Errorf("RetryAfter of several values = %v, want the longest, 1m0s", got)
	}
}

// A Retry-After of 3,000 years is shortened to MaxRetryAfter.
func TestRetryAfter_MaxRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		max, want time.Duration
	}{{0, 24 * time.Hour}, {time.Hour, time.Hour}, {-1, schedule.Unlimited / time.Second * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{MaxRetryAfter: tt.max}
			u := mustURL(t, "http://example.com/")
			g, _ := l.Acquire(t.Context(), u)
			g.Done(Outcome{Status: 503, Header: retryIn("99999999999")})
			if got := time.Until(l.Next(u)); got != tt.want {
				t.Errorf("MaxRetryAfter %v: the next request is due in %v, want %v", tt.max, got, tt.want)
			}
		})
	}
}
