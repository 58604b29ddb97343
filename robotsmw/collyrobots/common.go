package collyrobots

import (
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// common paces all the collectors of the process that were attached without a
// Limiter, so that a host has one pace, however many crawl it.
var common politeness.Limiter

// bubble is what a test with a time of its own has in place of common.
var bubble struct {
	sync.Mutex
	base    http.RoundTripper
	limiter *politeness.Limiter
}

// commonLimiter returns the Limiter that collectors without one share. The time
// of a testing/synctest bubble begins anew in each, and no Limiter can serve
// two: there, those share one that have the same fake network as Base.
func commonLimiter(base http.RoundTripper) *politeness.Limiter {
	now := time.Now()
	if now != now.Round(0) { // it has a monotonic part, which a bubble's time has not
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
