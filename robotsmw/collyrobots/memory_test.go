package collyrobots_test

import (
	"runtime"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw"
)

// A job server makes a collector for each request that it serves. Attach adds
// at most 16 KiB to the memory of a collector.
func TestMemoryOfAnAttachedCollector(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector uses additional memory")
	}
	const n = 200
	collectors := make([]*colly.Collector, n)
	for i := range collectors {
		collectors[i] = colly.NewCollector()
	}
	extensions := make([]any, n)
	attach(t, colly.NewCollector(), robotsmw.Options{UserAgent: agent, Limiter: unpaced()}) // what all share
	before := testmain.Heap()
	for i, c := range collectors {
		extensions[i] = attach(t, c, robotsmw.Options{UserAgent: agent})
	}
	each := (testmain.Heap() - before) / n
	runtime.KeepAlive(extensions)
	runtime.KeepAlive(collectors)
	t.Logf("Attach takes %d bytes for each collector", each)
	if each > 16<<10 {
		t.Errorf("an attached collector takes %d bytes more than a plain one, want at most %d", each, 16<<10)
	}
}
