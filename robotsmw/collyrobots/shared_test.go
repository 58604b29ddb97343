package collyrobots

import (
	"runtime"
	"testing"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// The records of a Limiter go with it; those of the common Limiter stay.
func TestSharedRecordsGoWithTheirLimiter(t *testing.T) {
	a := recordsFor(robotsmw.Options{Limiter: &common})
	before := len(shared.records)
	recordsFor(robotsmw.Options{Limiter: new(politeness.Limiter)})
	for range 100 {
		runtime.GC()
		shared.Lock()
		n := len(shared.records)
		shared.Unlock()
		if n <= before {
			break
		}
		runtime.Gosched()
	}
	shared.Lock()
	n := len(shared.records)
	shared.Unlock()
	if n > before {
		t.Errorf("%d records are left, of %d", n, before)
	}
	if recordsFor(robotsmw.Options{Limiter: &common}) != a {
		t.Error("the common Limiter got other records")
	}
}
