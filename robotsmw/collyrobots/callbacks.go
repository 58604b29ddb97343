package collyrobots

import (
	"errors"
	"net/http"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// registerCallbacks registers the callbacks of the extension on the collector.
func (a *attachedCollector) registerCallbacks() {
	onRequestFirst(a.collector, a.beforeRequest)
	if hasResponseHandlers(a.collector) {
		onResponseFirst(a.collector, a.beforeResponseHandlers)
	}
	onErrorFirst(a.collector, a.afterFailure)
	a.collector.OnRequest(a.onRequest)
	a.collector.OnResponseHeaders(a.onResponseHeaders)
	a.collector.OnResponse(a.onResponse)
	a.collector.OnError(a.onError)
	a.keepHandlerLast()
}

// isAttached reports whether a collector has the callbacks of an Extension,
// which Collector.Init keeps.
func isAttached(c *colly.Collector) bool {
	return c != nil && hasRequestHandler(c, new(attachedCollector).beforeRequest)
}

// beforeRequest runs before all other callbacks. On a synchronous collector, it
// first makes a request that was put back and is due now. If r is a repeat,
// beforeRequest waits until it may be sent. On an asynchronous collector, the
// wait does not block the OnError handler that called Retry, because the repeat
// has a goroutine of its own. The wait also occupies no slot of a LimitRule.
func (a *attachedCollector) beforeRequest(r *colly.Request) {
	s := seal(r)
	if a.isHeadOfVisit(r, s) {
		r.Body = &repeatMark{precedesGet: true}
	}
	// seal restores only the body of the http.Request. If r is a repeat, r.Body
	// is still its mark.
	mark := repeatMarkFor(r)
	// A repeat by the extension makes no other requests, because runDue may
	// have made it: runDue would call itself once for each due request.
	if !a.collector.Async && !mark.byExtension {
		a.putBackQueue.runDue()
	}
	if mark.wait != nil {
		mark.wait()
	}
}

// afterFailure runs before all OnError handlers, which may Retry the request or
// visit links of an error page.
func (a *attachedCollector) afterFailure(r *colly.Response, err error) {
	if r.Headers == nil && isRefusal(err) {
		// In plain colly, Headers is nil if there is no response, and programs
		// retry then. A refusal should not be retried like that: either it is
		// final, or its end is known and a Retry waits for it.
		r.Headers = new(http.Header)
	}
	useCtxOfRequest(r)
	if r.StatusCode == 0 {
		a.restoreCached(r.Request)
		a.markFailed(r.Request, err)
		return
	}
	a.refuseLinks(r) // calls restoreCached first
	// The new mark has no hops and checksVisited, because the site has
	// responded.
	if was := repeatMarkFor(r.Request); a.isThrottled(r) && was.repeats < a.RetryThrottled {
		r.Request.Body = &repeatMark{body: was.body, err: err, final: true, willRepeat: true, repeats: was.repeats, precedesGet: was.precedesGet}
	}
}

// onRequest runs before colly reads its cache directory and before it sends the
// request.
func (a *attachedCollector) onRequest(r *colly.Request) {
	a.currentGuard() // creates the guard of a new backend before colly matches its LimitRules
	a.keepHandlerLast()
	if k := a.pageMarks.forContext(r.Ctx); k != nil {
		a.checkAgainstMark(r, k)
	}
	if a.collector.CacheDir != "" && r.Method == http.MethodGet && !r.IsAbort() {
		a.checkCached(r)
	}
}

// onResponseHeaders makes the extension refuse the links of a page if its
// header has a nofollow directive, before any OnResponse handler can visit
// them. It does the same for a response that is certainly from bot protection,
// such as a challenge or any 429, because its links are not those of the page.
func (a *attachedCollector) onResponseHeaders(r *colly.Response) {
	useCtxOfRequest(r)
	response := httpResponse(r)
	if a.detect(response).Sure || robotsmeta.ParseHeader(response.Header, a.tokens...).NoFollow() {
		a.markNoFollow(r)
	}
}

// beforeResponseHandlers runs before the OnResponse handlers that were
// registered before Attach, because they may visit links of the page.
func (a *attachedCollector) beforeResponseHandlers(r *colly.Response) { a.refuseLinks(r) }

// onResponse runs after the OnResponse handlers that were registered before
// Attach, and before all others. It examines the page again, because one of
// these handlers may have decoded the body.
func (a *attachedCollector) onResponse(r *colly.Response) {
	directives := a.refuseLinks(r)
	if directives.NoIndex() {
		a.tally(&a.counts.NoIndex, 1)
	}
	if directives.NoFollow() {
		a.tally(&a.counts.NoFollow, 1)
	}
	if a.collector.ParseHTTPErrorResponse { // otherwise colly calls onError, which calls a.repeatThrottled
		a.repeatThrottled(r)
	}
}

// refuseLinks makes the extension refuse the links of a page that must not be
// followed. Unlike onResponseHeaders, it also examines the body, which may
// contain directives or identify bot protection.
func (a *attachedCollector) refuseLinks(r *colly.Response) robotsmw.Page {
	a.restoreCached(r.Request)
	useCtxOfRequest(r)
	directives := a.Directives(r)
	if directives.Refusal.Sure || directives.NoFollow() {
		a.markNoFollow(r)
	}
	if a.ObeyRelNoFollow {
		a.markRelLinks(r, directives)
	}
	return directives
}

func (a *attachedCollector) onError(r *colly.Response, err error) {
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		a.mu.Lock()
		handlers := a.onBlocked
		a.mu.Unlock()
		for _, f := range handlers {
			f(r.Request, blocked.Decision)
		}
	} else if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		a.putBackDelayed(r.Request, delay)
	} else if !a.collector.ParseHTTPErrorResponse { // otherwise onResponse has called a.repeatThrottled
		a.repeatThrottled(r)
	}
}
