package collyrobots

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// Records are removed with their Limiter or their transport. Those of
// processLimiter and the default transport are never removed.
func TestSharedRecordsGoWithTheirLimiter(t *testing.T) {
	count := func() (n int) {
		for range shared.Range {
			n++
		}
		return n
	}
	a := recordsFor(robotsmw.Options{Limiter: &processLimiter}, defaultTransport{})
	before := count()
	recordsFor(robotsmw.Options{Limiter: new(politeness.Limiter)}, defaultTransport{})
	recordsFor(robotsmw.Options{Limiter: &processLimiter}, new(http.Transport))
	for tries := 0; count() > before && tries < 100; tries++ {
		runtime.GC()
		runtime.Gosched()
	}
	if n := count(); n > before {
		t.Errorf("%d records are left, want at most %d", n, before)
	}
	if recordsFor(robotsmw.Options{Limiter: &processLimiter}, defaultTransport{}) != a {
		t.Error("recordsFor(processLimiter) returned other records than before, want the same")
	}
}
