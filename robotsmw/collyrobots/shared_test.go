package collyrobots

import (
	"runtime"
	"testing"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// The records of a Limiter go with it; those of the common Limiter stay.
func TestSharedRecordsGoWithTheirLimiter(t *testing.T) {
	count := func() (n int) {
		for range shared.Range {
			n++
		}
		return n
	}
	a := recordsFor(robotsmw.Options{Limiter: &common})
	before := count()
	recordsFor(robotsmw.Options{Limiter: new(politeness.Limiter)})
	for tries := 0; count() > before && tries < 100; tries++ {
		runtime.GC()
		runtime.Gosched()
	}
	if n := count(); n > before {
		t.Errorf("%d records are left, of %d", n, before)
	}
	if recordsFor(robotsmw.Options{Limiter: &common}) != a {
		t.Error("the common Limiter got other records")
	}
}
