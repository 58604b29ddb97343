package collyrobots

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A crawl is canceled while requests to many hosts are put back. Afterwards,
// hostQueues contains no host.
func TestAwaitHost_EndedContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		var hostQueues sync.Map
		for i := range 1000 {
			awaitHost(&hostQueues, &putBackRequest{ctx: ended, url: &url.URL{Host: fmt.Sprint("h", i, ".example")}})
		}
		synctest.Wait()
		sleepUntil(t.Context(), time.Now().Add(2*handoverDelay))
		synctest.Wait()
		n := 0
		for range hostQueues.Range {
			n++
		}
		if n > 0 {
			t.Errorf("hostQueues contains %d hosts, want 0", n)
		}
	})
}
