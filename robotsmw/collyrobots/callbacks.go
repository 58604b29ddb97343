package collyrobots

import (
	"errors"
	"net/http"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// register adds the member's callbacks to its collector.
func (m *member) register() {
	onRequestFirst(m.c, m.beforeRequest)
	onErrorFirst(m.c, m.afterFailure)
	m.c.OnRequest(m.onRequest)
	m.c.OnResponseHeaders(m.onResponseHeaders)
	m.c.OnResponse(m.onResponse)
	m.c.OnError(m.onError)
	m.beLast()
}

// beforeRequest runs before all other callbacks. On a synchronous collector, it
// first makes a request that was put back and is due now. If the program
// repeats a refused request, beforeRequest waits until it may be sent. On an
// asynchronous collector, this does not hold up the OnError handler that called
// Retry, because the repeat has a goroutine of its own.
func (m *member) beforeRequest(r *colly.Request) {
	seal(r)
	mark := repeatMarkFor(r)
	if !m.c.Async && !mark.own {
		m.parked.runDue()
	}
	if !mark.own && !mark.until.IsZero() {
		mark.wait()
	}
}

// afterFailure runs before all OnError handlers, which may Retry the request.
func (m *member) afterFailure(r *colly.Response, err error) {
	if r.Headers == nil && isRefusal(err) {
		// In plain colly, Headers is nil if the server has not answered, and
		// programs retry then. A refusal is not such a failure: it is final, or
		// the extension knows until when it lasts.
		r.Headers = new(http.Header)
	}
	m.restoreCached(r.Request)
	if r.StatusCode == 0 {
		m.markFailed(r.Request, err)
	} else if was := repeatMarkFor(r.Request); m.repeatable(r) && was.repeats < m.RetryThrottled {
		r.Request.Body = &repeatMark{body: was.body, err: err, final: true, willRepeat: true, repeats: was.repeats}
	}
}

// onRequest runs before colly looks into its cache directory and before it
// sends anything.
func (m *member) onRequest(r *colly.Request) {
	m.sync()
	m.beLast()
	if k := m.marks.of(r.Ctx); k != nil {
		m.refuseChild(r, k)
	}
	if m.c.CacheDir != "" && r.Method == http.MethodGet && !r.IsAbort() {
		m.judgeCached(r)
	}
}

// onResponseHeaders checks whether a page says nofollow in its header. If so,
// the links of the page are refused, before any OnResponse handler can visit
// them. If the response is surely a refusal, such as a challenge, its links are
// refused too, because they are not the links of the page.
func (m *member) onResponseHeaders(r *colly.Response) {
	answer := answerOf(r)
	if m.detect(answer).Sure || robotsmeta.ParseHeader(answer.Header, m.tokens...).NoFollow() {
		m.noFollow(r)
	}
}

func (m *member) onResponse(r *colly.Response) {
	m.restoreCached(r.Request)
	r.Ctx = r.Request.Ctx // onResponseHeaders may have replaced r.Request.Ctx by a copy
	page := m.Directives(r)
	if page.NoIndex() {
		m.tally(&m.counts.NoIndex, 1)
	}
	if page.Refusal.Sure {
		m.noFollow(r) // onResponseHeaders has not seen the body
	}
	if page.NoFollow() {
		m.noFollow(r)
		m.tally(&m.counts.NoFollow, 1)
	}
	if m.ObeyRelNoFollow {
		m.relLinks(r, page)
	}
	if m.c.ParseHTTPErrorResponse { // otherwise colly calls onError, which calls m.throttled
		m.throttled(r)
	}
}

func (m *member) onError(r *colly.Response, err error) {
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		m.mu.Lock()
		handlers := m.onBlocked
		m.mu.Unlock()
		for _, f := range handlers {
			f(r.Request, blocked.Decision)
		}
	} else if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		m.delayed(r.Request, delay)
	} else if !m.c.ParseHTTPErrorResponse { // otherwise onResponse has called m.throttled
		m.throttled(r)
	}
}
