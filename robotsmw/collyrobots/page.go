package collyrobots

import (
	"context"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// page is the context.Context of a request for a page. The guard puts it into
// the request. The outlet, which sends the request, finds it there.
type page struct {
	context.Context
	hub   *hub
	since time.Time // when the request came to the guard
	sent  time.Time // when the request left for the first time
	trace politeness.Trace
	proxy string   // the proxy that colly's switcher chose; "" means none
	slot  slotBody // the response's body, which ends the attempt
	body  heldBody // the response's body, until it is read
}

type pageKey struct{}

func (p *page) Value(key any) any {
	if key == (pageKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// pageOf returns the page of a request. It returns nil for a request for
// robots.txt.
func pageOf(req *http.Request) *page {
	p, _ := req.Context().Value(pageKey{}).(*page)
	return p
}
