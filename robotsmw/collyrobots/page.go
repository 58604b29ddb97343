package collyrobots

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// page is the context of a page's request, on its way from the guard to where
// it leaves.
type page struct {
	context.Context
	by    *atomic.Pointer[politeness.Transport] // what paces it
	count *counters
	since time.Time // when it came to the guard
	left  bool      // it has been sent
	proxy string    // which one it went by, as colly's switchers tell
}

type pageKey struct{}

func (p *page) Value(key any) any {
	if key == (pageKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// pageOf returns nil for a request that is for robots.txt.
func pageOf(ctx context.Context) *page {
	p, _ := ctx.Value(pageKey{}).(*page)
	return p
}

// leaves notes how long the request has waited.
func (p *page) leaves() {
	if !p.left {
		p.left = true
		p.count.waitedFor(time.Since(p.since))
	}
}
