package gate

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A slot ends in the gate when it ends in the Limiter, so that its id is
// unknown afterwards.
func TestDefaults_Lease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/robots.txt": ""})
		h := newGate(t, &web, &politeness.Limiter{Delay: -1, Concurrency: 2})
		early := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		late := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		time.Sleep(politeness.DefaultLease - time.Second)
		if w := ask(h, "POST", "/done?id="+early.ID); w.Code != 204 {
			t.Errorf("a second before the lease ends, /done answers %d", w.Code)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w := ask(h, "POST", "/done?id="+late.ID); w.Code != 404 {
			t.Errorf("when the lease has ended, /done answers %d", w.Code)
		}
	})
}

// The time of a fetch includes an attempt after the longest wait. Only the
// field shows it, because an attempt that lasts longer ends by itself.
func TestDefaults_AttemptTimeout(t *testing.T) {
	h := newGate(t, new(robotstest.Internet), nil)
	if want := maxWait + politeness.DefaultAttemptTimeout; h.timeout != want {
		t.Errorf("a fetch may take %v, want %v", h.timeout, want)
	}
}
