package collyrobots

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A page has rel=nofollow links with fragments of a megabyte. What is
// remembered of them is without the fragments, and does not keep them in
// memory.
func TestMemoryOfLinksWithFragments(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	urls := make(map[string]bool)
	for i := range 50 {
		urls[asSent(fmt.Sprintf("http://a.example/%d#%s", i, strings.Repeat("x", 1<<20)))] = true
	}
	if grown := heap() - before; grown > 5<<20 || len(urls) != 50 || !urls["http://a.example/7"] {
		t.Errorf("%d URLs take %d bytes", len(urls), grown)
	}
	runtime.KeepAlive(urls)
}
