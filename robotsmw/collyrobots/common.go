package collyrobots

import (
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// common is the Limiter for collectors that were attached without one. The
// whole process shares it. So a host has one pace, however many of these
// collectors crawl it.
var common politeness.Limiter

// In tests with testing/synctest, bubble is used in place of common.
var bubble struct {
	sync.Mutex
	base    http.RoundTripper
	limiter *politeness.Limiter
}

// commonLimiter returns the Limiter of all collectors that were attached
// without a Limiter. Each testing/synctest bubble has a time of its own, and no
// Limiter can serve two bubbles. So in a bubble, collectors share a Limiter if
// their Base is the same fake network.
func commonLimiter(base http.RoundTripper) *politeness.Limiter {
	now := time.Now()
	if now != now.Round(0) { // a time has a monotonic part, except in a bubble
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
