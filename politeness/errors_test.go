package politeness

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	until := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		err     error
		message string
		timeout bool
		is      error
	}{
		{&DelayError{Host: "example.com", Until: until},
			"politeness: no request to example.com is allowed before 2026-11-21T12:00:00Z: send requests to other hosts first, or allow a longer wait",
			true, context.DeadlineExceeded},
		{&DelayError{Host: "example.com", Until: until, Reason: "crawl-delay"},
			"politeness: no request to example.com is allowed before 2026-11-21T12:00:00Z (crawl-delay): send requests to other hosts first, or allow a longer wait",
			true, context.DeadlineExceeded},
		{&DelayError{Host: "example.com", Until: until, Reason: "fleet", Err: io.ErrNoProgress},
			"politeness: no request to example.com is allowed yet (fleet): multiple Read calls return no data or error: send requests to other hosts first, and retry at about 2026-11-21T12:00:00Z",
			true, io.ErrNoProgress},
		{&timeoutError{5 * time.Second, nil},
			"politeness: no complete response within AttemptTimeout, 5s from the request's start", true, context.DeadlineExceeded},
		{&timeoutError{5 * time.Second, io.ErrUnexpectedEOF},
			"politeness: no complete response within AttemptTimeout, 5s from the request's start: unexpected EOF", true, io.ErrUnexpectedEOF},
		{&cancelError{"example.com", context.Canceled, errors.New("enough pages")},
			"politeness: canceled while waiting for example.com: enough pages", false, context.Canceled},
	} {
		if got := tt.err.Error(); got != tt.message {
			t.Errorf("Error() = %q, want %q", got, tt.message)
		}
		if ne, ok := tt.err.(net.Error); ok != tt.timeout || ok && !ne.Timeout() {
			t.Errorf("%v: the error is a timeout: %t, want %t", tt.err, ok, tt.timeout)
		}
		if !errors.Is(tt.err, tt.is) {
			t.Errorf("errors.Is(%v, %v) = false, want true", tt.err, tt.is)
		}
	}
}
