package collyrobots

import (
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// common paces all collectors of the process that were attached without a
// Limiter. So a host has one pace, however many of these collectors crawl it.
var common politeness.Limiter

// bubble takes the place of common in tests with testing/synctest.
var bubble struct {
	sync.Mutex
	base    http.RoundTripper
	limiter *politeness.Limiter
}

// commonLimiter returns the Limiter that collectors without one share. Each
// testing/synctest bubble has a time of its own, and no Limiter can serve two
// bubbles. So in a bubble, collectors share a Limiter if they have the same
// fake network as Base.
func commonLimiter(base http.RoundTripper) *politeness.Limiter {
	now := time.Now()
	if now != now.Round(0) { // now has a monotonic part; the time of a bubble has none
		return &common
	}
	if base == nil || !reflect.ValueOf(base).Comparable() {
		return new(politeness.Limiter)
	}
	bubble.Lock()
	defer bubble.Unlock()
	if bubble.base != base {
		bubble.base, bubble.limiter = base, new(politeness.Limiter)
	}
	return bubble.limiter
}
