package record

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// The output shows an error beside its URL, so the error does not repeat the
// host or its address.
func TestCause(t *testing.T) {
	const parseError = `failed to parse Location header "http://[::1": `
	for text, want := range map[string]string{
		"dial tcp 127.0.0.1:1: connect: connection refused":                 "connection refused",
		"dial tcp [::1]:80: connect: connection refused":                    "connection refused",
		"dial tcp: lookup a.example on 10.0.0.1:53: no such host":           "no such host",
		"dial tcp: lookup a.example: no such host":                          "no such host",
		"read tcp 127.0.0.1:4->127.0.0.1:5: read: connection reset by peer": "connection reset by peer",
		"dial tcp 192.0.2.1:443: i/o timeout":                               "i/o timeout",
		parseError + `parse "http://[::1": missing ']' in host`:             parseError + `missing ']' in host`,
		"unexpected EOF": "unexpected EOF",
		"status 503":     "status 503",
	} {
		if got := Cause(text); got != want {
			t.Errorf("Cause(%q) = %q, want %q", text, got, want)
		}
	}
}

// In JSON, a time has at most three digits after the decimal point.
func TestSeconds(t *testing.T) {
	for ms := range 20_000 {
		d := time.Duration(ms)*time.Millisecond + 400*time.Microsecond
		want, _ := strconv.ParseFloat(fmt.Sprintf("%d.%03d", ms/1000, ms%1000), 64)
		if got := Seconds(d); got != want {
			t.Fatalf("Seconds(%v) = %v, want %v", d, got, want)
		}
	}
}
