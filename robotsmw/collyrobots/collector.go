package collyrobots

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"
	"unsafe"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// member is a collector that the extension is attached to.
type member struct {
	*Extension
	c *colly.Collector

	// Where the collector has these. To look for a field takes time.
	backend         *unsafe.Pointer
	headerCallbacks *[]colly.RequestCallback

	last    sync.Mutex     // guards what follows
	guard   *guard         // the collector's; nil at first
	of      unsafe.Pointer // the backend that guard belongs to
	headers int            // of the OnRequestHeaders handlers, if any, the last is the member's
}

// currentGuard returns the guard of the collector's backend. After
// Collector.Init, that is another one. It returns nil if this version of colly
// has none.
func (m *member) currentGuard() *guard {
	m.last.Lock()
	defer m.last.Unlock()
	if at := *m.backend; at != m.of {
		if g, err := m.guardFor(m.c); err == nil {
			m.guard, m.of = g, at
		}
	}
	return m.guard
}

// beLast registers onRequestHeaders again if another handler was registered
// after it, because that handler might set a client.
func (m *member) beLast() {
	m.last.Lock()
	defer m.last.Unlock()
	if m.headerCallbacks == nil { // whether the member's handler is the last is not known
		if m.headers == 0 {
			m.c.OnRequestHeaders(m.onRequestHeaders)
			m.headers = 1
		}
		return
	}
	if len(*m.headerCallbacks) != m.headers {
		m.c.OnRequestHeaders(m.onRequestHeaders)
		m.headers = len(*m.headerCallbacks)
	}
}

// onRequestHeaders runs just before colly reads the client.
func (m *member) onRequestHeaders(*colly.Request) {
	if g := m.currentGuard(); g != nil {
		g.syncClient()
	}
}

// judgeCached checks a page before colly may serve it from its cache directory.
// The transport does not see the request for such a page. If a rule that is in
// memory forbids the page by now, judgeCached sets "no-cache". The request then
// goes to the transport, which refuses it. No robots.txt is fetched for a page
// from the cache directory, which therefore works offline. The same header
// sends the repeat of a 429, which colly has in its cache, to the server.
func (m *member) judgeCached(r *colly.Request) {
	if repeatMarkFor(r).repeats > 0 || m.isForbidden(r.URL) {
		r.Body = &repeatMark{body: r.Body, header: *r.Headers}
		*r.Headers = r.Headers.Clone()
		r.Headers.Set("Cache-Control", "no-cache")
	}
}

// isForbidden reports whether a robots.txt that is in memory forbids u. It
// returns false if none is, or if robots.txt is unreachable.
func (m *member) isForbidden(u *url.URL) bool {
	d, err := m.checker.Check(ended, u) // a Check whose context has ended begins no fetch
	return err == nil && !d.Allowed && d.Reason != robotsmw.Unreachable
}

// restoreCached undoes what judgeCached did to a request.
func (m *member) restoreCached(r *colly.Request) {
	if b, ok := r.Body.(*repeatMark); ok && b.header != nil {
		r.Body, *r.Headers = b.body, b.header
	}
}

// markFailed marks a request that failed with err.
func (m *member) markFailed(r *colly.Request, err error) {
	was := repeatMarkFor(r)
	b := &repeatMark{body: was.body, err: err, at: time.Now(), repeats: was.repeats, hops: was.hops}
	r.Body = b
	why := unreachable
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		b.final = !errors.Is(err, robotsmw.ErrUnreachable)
		b.until = cmp.Or(blocked.Decision.NextTry, b.at)
	} else if b.lost = isLost(err); b.lost {
		m.tally(&m.counts.Lost, 1)
	} else if errors.Is(err, robotsmw.ErrAddressRefused) {
		b.final = true
	}
	if delay, ok := errors.AsType[*notDue](err); ok {
		b.until, why = delay.Until, delay.Reason
		b.checked = delay.checked && !delay.hop // what the redirects led to is visited now
		if delay.hop {
			b.hops++
		}
		b.willRepeat = m.PutBack && b.hops < maxHops && m.c.Context.Err() == nil
		b.final = b.willRepeat
	}
	target := *r.URL
	b.wait = func() {
		m.pause(&target, b.at, b.until, why)
		sleepUntil(m.c.Context, b.until) // after an error, the request fails with it
	}
}

// repeatable reports whether RetryThrottled is about a response.
func (m *member) repeatable(r *colly.Response) bool {
	if !httpstatus.IsThrottled(r.StatusCode) && !httpstatus.IsOverloaded(r.StatusCode) {
		return false
	}
	return m.RetryThrottled > 0 && (r.Request.Method == http.MethodGet || r.Request.Method == http.MethodHead)
}

// throttled repeats a GET or HEAD that was answered 429, 430, 503 or 529, up to
// RetryThrottled times.
func (m *member) throttled(r *colly.Response) {
	if !m.repeatable(r) {
		return
	}
	repeats := repeatMarkFor(r.Request).repeats
	if repeats >= m.RetryThrottled {
		m.tally(&m.counts.GivenUp, 1)
		return
	}
	m.tally(&m.counts.Retried, 1)
	again := repeatOf(r.Request, repeats+1)
	if m.PutBack {
		m.park(again, time.Time{})
	} else {
		m.repeat(again) // the request waits in the Limiter
	}
}

// repeatOf returns a request that repeats r. It has a header of its own,
// because a handler of the program's may still change that of r.
func repeatOf(r *colly.Request, repeats int) *colly.Request {
	again, header := *r, r.Headers.Clone()
	again.Headers = &header
	was := repeatMarkFor(r)
	again.Body = &repeatMark{own: true, body: was.body, repeats: repeats, hops: was.hops, checked: was.checked}
	return &again
}

// maxHops is how many times a request is put back or refused after a redirect.
// Each repeat begins with the redirect, which may be what makes the host wait.
const maxHops = 5

// delayed puts back a request that the Limiter refused.
func (m *member) delayed(r *colly.Request, delay *politeness.DelayError) {
	was := repeatMarkFor(r)
	if !was.final { // markFailed has decided
		if was.hops == maxHops {
			m.tally(&m.counts.GivenUp, 1)
		}
		return
	}
	m.tally(&m.counts.PutBack, 1)
	again := repeatOf(r, was.repeats)
	m.regain(r.Body.(*repeatMark))
	m.pause(r.URL, time.Now(), delay.Until, delay.Reason)
	m.park(again, delay.Until)
}

// park repeats a request when its host is due. On an asynchronous collector,
// where the request has a goroutine of its own, park waits for the request's
// turn. So Collector.Wait waits for the request too. On a synchronous
// collector, park returns at once, because the caller has other work.
func (m *member) park(r *colly.Request, until time.Time) {
	p := &parked{ctx: m.c.Context, url: r.URL, until: until, limiter: m.opts.Limiter, run: func() { m.repeat(r) }}
	if !m.c.Async {
		m.parked.add(p)
		return
	}
	awaitTurn(&m.lines, p)
	p.run()
}

// repeat submits a request again. OnError gets the error if the request fails,
// but not if colly refuses to make the request.
func (m *member) repeat(r *colly.Request) {
	switch err := r.Retry(); {
	case err == colly.ErrMaxRequests, err == colly.ErrRetryBodyUnseekable:
		m.tally(&m.counts.GivenUp, 1)
	case err == nil && m.c.CheckHead && !m.c.Async && r.Method == http.MethodHead:
		// With CheckHead, Visit sends a HEAD before the GET. It returned when
		// this HEAD failed the first time, so the GET is sent here.
		page := *r
		page.Method = http.MethodGet
		page.Do()
	}
}
