package tool

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"120":                           2 * time.Minute,
		" 3 ":                           3 * time.Second,
		"-1":                            0,
		"soon":                          0,
		"99999999999999999999":          24 * time.Hour,
		"Sat, 21 Nov 2026 12:01:00 GMT": time.Minute,
		"Sat, 21 Nov 2026 11:59:00 GMT": 0,
	} {
		got, ok := retryAfter(http.Header{"Retry-After": {value}}, now)
		if got != want || ok != (want > 0) {
			t.Errorf("retryAfter with the Retry-After %q = %v, %t; want %v, %t", value, got, ok, want, want > 0)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		interval time.Duration
		want     [record.MaxTries - 1]time.Duration
	}{
		{1000 * ms, [...]time.Duration{10_000 * ms, 20_000 * ms, 40_000 * ms}},
		{100 * ms, [...]time.Duration{1000 * ms, 2000 * ms, 4000 * ms}},
		{
			0,
			[...]time.Duration{1000 * ms, 2000 * ms, 4000 * ms},
		}, // a page waits even if its host has no interval
	} {
		for i, want := range tt.want {
			if got := retryDelay(tt.interval, i+1); got != want {
				t.Errorf("retryDelay(%v, %d) = %v, want %v", tt.interval, i+1, got, want)
			}
		}
	}
}

// Bot protection refuses many pages, each with a body of a megabyte. The
// summary contains the refusals, but does not keep the bodies in memory.
func TestVisit_RefusalKeepsNoBody(t *testing.T) {
	var records []record.Record
	before := testmain.Heap()
	for range 50 {
		v := &Visit{
			response:   &colly.Response{Body: make([]byte, 1<<20)},
			directives: robotsmw.Page{Refusal: refusal.Refusal{Kind: refusal.Challenge}},
		}
		records = append(records, record.Record{Refusal: v.refusal()}.Brief())
	}
	if grown := testmain.Heap() - before; grown > 5<<20 {
		t.Errorf("50 records keep %d bytes in memory, want at most %d", grown, 5<<20)
	}
	last := records[49].Refusal
	if last == nil || last.Kind != refusal.Challenge {
		t.Errorf("last record has the refusal %+v, want a challenge", last)
	}
	runtime.KeepAlive(records)
}
