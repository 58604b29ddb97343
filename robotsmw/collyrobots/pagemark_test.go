package collyrobots

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// A page has rel=nofollow links with fragments of a megabyte. The mark of the
// page does not keep the fragments in memory.
func TestMemoryOfLinksWithFragments(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector uses additional memory")
	}
	before := testmain.Heap()
	urls := make(map[string]bool)
	for i := range 50 {
		urls[asSent(fmt.Sprintf("http://a.example/%d#%s", i, strings.Repeat("x", 1<<20)))] = true
	}
	if grown := testmain.Heap() - before; grown > 5<<20 || len(urls) != 50 || !urls["http://a.example/7"] {
		t.Errorf("%d URLs take %d bytes, and http://a.example/7 is among them: %v; want 50 URLs, at most %d bytes, and true",
			len(urls), grown, urls["http://a.example/7"], 5<<20)
	}
	runtime.KeepAlive(urls)
}
