package collyrobots

import (
	"errors"
	"net/http"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
)

// member is a collector that the extension is attached to. Its methods are the
// collector's callbacks.
type member struct {
	*Extension
	c *colly.Collector

	hub          *hub
	cacheControl sync.Map // the Cache-Control (a []string) before judgeCached changed it, by request ID

	mu      sync.Mutex
	headers int // the number of OnRequestHeaders handlers; the last one is the member's
}

// onRequest runs before colly looks into its cache directory and before it
// sends anything.
func (m *member) onRequest(r *colly.Request) {
	m.hub.sync()
	m.beLast()
	m.tries.endRetries(m.context(), r)
	if k := m.marks.of(r.Ctx); k != nil {
		m.refuseChild(r, k)
	}
	if m.c.CacheDir != "" && r.Method == http.MethodGet && !r.IsAbort() {
		m.chains.in(m.c.CacheDir)
		m.judgeCached(r)
	}
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
func (m *member) onRequestHeaders(*colly.Request) { m.hub.sync() }

// onResponseHeaders checks whether a page says nofollow in its header. If so,
// the links of the page are refused, before any OnResponse handler can visit
// them. If the response is surely a refusal, such as a challenge, its links are
// refused too, because they are not the links of the page.
func (m *member) onResponseHeaders(r *colly.Response) {
	refused, _ := refusal.Of(answerOf(r))
	if refused.Sure || m.header(r).NoFollow() {
		m.noFollow(r)
	}
}

func (m *member) onResponse(r *colly.Response) {
	if m.c.CacheDir != "" {
		m.restoreCached(r.Request)
	}
	r.Ctx = r.Request.Ctx // onResponseHeaders may have replaced r.Request.Ctx by a copy
	page := m.Directives(r)
	if page.NoIndex() {
		m.count.noIndex.Add(1)
	}
	if page.NoFollow() {
		m.noFollow(r)
		m.count.noFollow.Add(1)
	}
	if m.ObeyRelNoFollow {
		m.relLinks(r)
	}
	if m.c.ParseHTTPErrorResponse { // otherwise colly calls onError, which calls m.throttled
		m.throttled(r)
	}
}

func (m *member) onError(r *colly.Response, err error) {
	if r.Headers == nil {
		r.Headers = new(http.Header) // so that handlers need not check for nil
	}
	if m.c.CacheDir != "" {
		m.restoreCached(r.Request)
	}
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		for _, f := range m.blockedHandlers() {
			f(r.Request, blocked.Decision)
		}
		return
	}
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		m.delayed(r.Request, delay)
		return
	}
	m.throttled(r)
}

func (x *Extension) blockedHandlers() []func(*colly.Request, robotsmw.Decision) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.onBlocked
}
