package collyrobots

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// At most 100 refused URLs of each host are recorded.
func TestLoopsRememberFewURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := refusalLoops{hosts: make(map[string]map[string]repeatedRefusal)}
		for i := range 1000 {
			l.add("a.example", fmt.Sprint(i), time.Second)
			l.add(fmt.Sprint(i, ".example"), "/", time.Second)
		}
		if n := len(l.hosts["a.example"]); n != maxLoopURLs {
			t.Errorf("%d URLs of a host are recorded, want %d", n, maxLoopURLs)
		}
		time.Sleep(time.Second)
		l.add("b.example", "/", time.Second)
		if n := len(l.hosts); n != 1 {
			t.Errorf("%d hosts are recorded a second later, want 1", n)
		}
	})
}
