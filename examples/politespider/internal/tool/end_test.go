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
		if got, ok := retryAfter(http.Header{"Retry-After": {value}}, now); got != want || ok != (want > 0) {
			t.Errorf("Retry-After: %s is %v, %t; want %v", value, got, ok, want)
		}
	}
}

func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		interval time.Duration
		want     [record.MaxTries - 1]time.Duration
	}{
		{time.Second, [...]time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second}},
		{100 * time.Millisecond, [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{0, [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}}, // a page waits even if its host has no interval
	} {
		for i, want := range tt.want {
			if got := retryDelay(tt.interval, i+1); got != want {
				t.Errorf("at an interval of %v, put off %d times: %v, want %v", tt.interval, i+1, got, want)
			}
		}
	}
}

// Bot protection refuses many pages, each with a body of a megabyte. The
// summary lists the pages with what refused them, and keeps no bodies.
func TestVisit_RefusalKeepsNoBody(t *testing.T) {
	var kept []record.Record
	before := testmain.Heap()
	for range 50 {
		v := &Visit{response: &colly.Response{Body: make([]byte, 1<<20)}, directives: robotsmw.Page{Refusal: refusal.Refusal{Kind: refusal.Challenge}}}
		kept = append(kept, record.Record{Refusal: v.refusal()}.Brief())
	}
	if grown := testmain.Heap() - before; grown > 5<<20 {
		t.Errorf("50 records take %d bytes", grown)
	}
	if kept[49].Refusal == nil || kept[49].Refusal.Kind != refusal.Challenge {
		t.Errorf("%+v", kept[49].Refusal)
	}
	runtime.KeepAlive(kept)
}
