package collyrobots

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
)

// member is a collector that the extension is attached to.
type member struct {
	*Extension
	c *colly.Collector

	hub          atomic.Pointer[hub]
	cacheControl sync.Map // the Cache-Control (a []string) before judgeCached changed it, by request ID

	mu      sync.Mutex
	headers int // the number of OnRequestHeaders handlers; the last one is the member's
}

// sync makes sure that the collector's requests pass the guard. After
// Collector.Init, the collector has another backend, which sync takes over.
func (m *member) sync() {
	h := m.hub.Load()
	if b, err := reach(m.c); err == nil && b.client != h.backend.client {
		m.mu.Lock()
		if other, err := m.hubFor(b); err == nil {
			h = other
			m.hub.Store(h)
		}
		m.mu.Unlock()
	}
	h.sync()
}

// hubFor returns the hub of a backend, and opens one if there is none.
func (x *Extension) hubFor(b backend) (*hub, error) {
	if k := keeperOf(b); k != nil {
		if h, ok := k.(*hub); ok && h.opts == x.opts {
			return h, nil
		}
		return nil, errOther
	}
	set := (*b.client).Transport
	base, timeout, _ := x.main.now()
	h := newHub(b, x.opts, base, timeout)
	h.open(&guard{x.sender, h})
	if set != nil { // after Collector.Init
		h.mu.Lock()
		h.take(set)
		h.mu.Unlock()
	}
	return h, nil
}

// beLast registers onRequestHeaders again if another handler was registered
// after it, because that handler might set a client.
func (m *member) beLast() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if headerCallbacks(m.c) != m.headers {
		m.c.OnRequestHeaders(m.onRequestHeaders)
		m.headers = headerCallbacks(m.c)
	}
}

// onRequestHeaders runs just before colly takes the client.
func (m *member) onRequestHeaders(*colly.Request) { m.sync() }

// judgeCached checks a page before colly serves it from its cache directory.
// The transport normally does not see the request for such a page. If the page
// may not be fetched any more, judgeCached sets "no-cache". The request then
// goes to the transport, which refuses it.
func (m *member) judgeCached(r *colly.Request) {
	if m.decide(m.c, r.URL) != nil {
		m.cacheControl.Store(r.ID, (*r.Headers)["Cache-Control"])
		r.Headers.Set("Cache-Control", "no-cache")
	}
}

// restoreCached undoes what judgeCached did to a request's Cache-Control.
func (m *member) restoreCached(r *colly.Request) {
	old, ok := m.cacheControl.LoadAndDelete(r.ID)
	if !ok {
		return
	}
	delete(http.Header(*r.Headers), "Cache-Control")
	if lines := old.([]string); lines != nil {
		(*r.Headers)["Cache-Control"] = lines
	}
}

// waitFor returns a function that waits until a request of the collector is
// due. It returns an error if the collector's Context ends first.
func (m *member) waitFor(r *colly.Request, why politeness.Reason) func(until time.Time) error {
	u := *r.URL
	return func(until time.Time) error {
		m.pause(&u, until, why)
		return sleepUntil(contextOf(m.c), until)
	}
}

// throttled repeats a GET or HEAD that was answered 429 or 503, up to
// RetryThrottled times.
func (m *member) throttled(r *colly.Response) {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusServiceUnavailable {
		return
	}
	if m.RetryThrottled <= 0 || r.Request.Method != http.MethodGet && r.Request.Method != http.MethodHead {
		return
	}
	was := markOf(r.Request)
	if was.repeats >= m.RetryThrottled {
		m.count.givenUp.Add(1)
		return
	}
	m.count.retried.Add(1)
	again := *r.Request
	again.Body = &failedBody{own: true, body: was.body, repeats: was.repeats + 1}
	if m.PutBack {
		m.park(&again, time.Time{})
	} else {
		m.repeat(&again) // the request waits in the Limiter
	}
}

// delayed puts back a request that the Limiter refused.
func (m *member) delayed(r *colly.Request, delay *politeness.DelayError) {
	if !m.PutBack || contextOf(m.c).Err() != nil {
		return
	}
	m.count.putBack.Add(1)
	again := *r
	was := markOf(r)
	again.Body = &failedBody{own: true, body: was.body, repeats: was.repeats}
	if b, ok := r.Body.(*failedBody); ok && b.lost {
		b.lost = false
		m.count.lost.Add(-1)
	}
	m.pause(r.URL, delay.Until, delay.Reason)
	m.park(&again, delay.Until)
}

// park repeats a request when its host is due. On an asynchronous collector,
// where the request has a goroutine of its own, park waits for the request's
// turn. So Collector.Wait waits for the request too. On a synchronous
// collector, park returns at once, because the caller has other work.
func (m *member) park(r *colly.Request, until time.Time) {
	p := &parked{ctx: contextOf(m.c), url: r.URL, until: until, limiter: m.opts.limiter, run: func() { m.repeat(r) }}
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
		m.count.givenUp.Add(1)
	case err == nil && m.c.CheckHead && !m.c.Async && r.Method == http.MethodHead:
		// With CheckHead, Visit sends a HEAD before the GET. It returned when
		// this HEAD failed the first time, so the GET is sent here.
		page := *r
		page.Method = http.MethodGet
		page.Do()
	}
}
