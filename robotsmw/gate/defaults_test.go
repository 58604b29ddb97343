package gate

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// TestDefaults_Lease checks that a slot has the default lease of the Limiter,
// so that its id is unknown afterwards.
func TestDefaults_Lease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/robots.txt": ""})
		h := newGate(t, &web, &politeness.Limiter{Delay: -1, Concurrency: 2})
		early := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		late := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		time.Sleep(politeness.DefaultLease - time.Second)
		if w := request(h, "POST", "/done?id="+early.ID); w.Code != 204 {
			t.Errorf("a second before the lease ends, /done returns status %d, want 204", w.Code)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w := request(h, "POST", "/done?id="+late.ID); w.Code != 404 {
			t.Errorf("when the lease has ended, /done returns status %d, want 404", w.Code)
		}
	})
}

// TestDefaults_AttemptTimeout checks that the time for a fetch includes an
// attempt after the maximum wait. It checks a field, because a longer attempt
// is canceled by its own timeout.
func TestDefaults_AttemptTimeout(t *testing.T) {
	h := newGate(t, new(robotstest.Internet), nil)
	if want := maxWait + politeness.DefaultAttemptTimeout; h.timeout != want {
		t.Errorf("a fetch may take %v, want %v", h.timeout, want)
	}
}
