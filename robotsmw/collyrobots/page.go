package collyrobots

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// page is the context.Context of a request for a page. The guard puts it into
// the request. The outlet, which sends the request, finds it there.
type page struct {
	context.Context
	by    *atomic.Pointer[politeness.Transport] // the transport that paces the request
	count *counters
	since time.Time // when the request came to the guard
	left  bool      // the request has been sent
	proxy string    // the proxy that colly's switcher chose; "" means none
	body  heldBody  // the response's body, until it is read
}

type pageKey struct{}

func (p *page) Value(key any) any {
	if key == (pageKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// pageOf returns the page of a request's context. It returns nil for a request
// for robots.txt.
func pageOf(ctx context.Context) *page {
	p, _ := ctx.Value(pageKey{}).(*page)
	return p
}

// The method "leaves" is called when the request is being sent. It counts how
// long the request waited.
func (p *page) leaves() {
	if !p.left {
		p.left = true
		p.count.waitedFor(time.Since(p.since))
	}
}
