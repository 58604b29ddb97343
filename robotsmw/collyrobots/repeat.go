package collyrobots

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// markFailed marks a request that failed with err.
func (a *attachedCollector) markFailed(r *colly.Request, err error) {
	previous := repeatMarkFor(r)
	mark := &repeatMark{
		body:          previous.body,
		err:           err,
		failedAt:      time.Now(),
		repeats:       previous.repeats,
		hops:          previous.hops,
		bypassesCache: previous.bypassesCache,
		precedesGet:   previous.precedesGet,
	}
	r.Body = mark
	reason := unreachable
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		mark.final = !errors.Is(err, robotsmw.ErrUnreachable)
		mark.until = cmp.Or(blocked.Decision.NextTry, mark.failedAt)
	} else if isLost(err) {
		mark.lost = true
		a.tally(&a.counts.Lost, 1)
	} else if errors.Is(err, robotsmw.ErrAddressRefused) {
		mark.final = true
	}
	if delay, ok := errors.AsType[*delayedRequest](err); ok {
		reason = delay.Reason
		mark.until = delay.Until
		mark.checksVisited = delay.checksVisited && !delay.isRedirect // the targets of the redirects are visited now
		if delay.isRedirect {
			mark.hops++
		}
		// A delayedRequest is never a DisallowedError: see refusalError.
		mark.willRepeat = a.PutBack && mark.hops < maxHops && a.collector.Context.Err() == nil
		mark.final = mark.willRepeat
	}
	if deadline, ok := a.collector.Context.Deadline(); ok && mark.until.After(deadline) {
		mark.final = true // a Retry could only wait for the end of the Context
	}
	target := *r.URL
	mark.wait = func() {
		a.logPause(&target, mark.failedAt, mark.until, reason)
		sleepUntil(a.collector.Context, mark.until) // if the Context has ended, the repeat fails
	}
}

// isThrottled reports whether RetryThrottled applies to a response.
func (a *attachedCollector) isThrottled(r *colly.Response) bool {
	if a.RetryThrottled <= 0 {
		return false
	}
	if r.Request.Method != http.MethodGet && r.Request.Method != http.MethodHead {
		return false
	}
	return httpstatus.IsThrottled(r.StatusCode) || httpstatus.IsOverloaded(r.StatusCode)
}

// repeatThrottled repeats a GET or HEAD whose response has the status 429, 430,
// 503 or 529, up to RetryThrottled times.
func (a *attachedCollector) repeatThrottled(r *colly.Response) {
	if !a.isThrottled(r) {
		return
	}
	bypassCache := a.forgetThrottled(r)
	repeats := repeatMarkFor(r.Request).repeats
	if repeats >= a.RetryThrottled {
		a.tally(&a.counts.GivenUp, 1)
		return
	}
	a.tally(&a.counts.Retried, 1)
	again := a.newRepeat(r.Request, repeats+1)
	mark := again.Body.(*repeatMark)
	mark.bypassesCache = bypassCache
	if a.collector.ParseHTTPErrorResponse {
		mark.precedesGet = false // the HEAD has not failed for colly, so Visit sends the GET
	}
	if a.PutBack {
		a.repeatLater(again, time.Time{})
	} else {
		a.repeat(again) // the request waits in the Limiter
	}
}

// newRepeat returns a request that repeats r. It has a URL, a header and a body
// of its own, because a handler of the program may still use those of r. It is
// made by the collector itself and not by the refusing clone that r has if its
// response was a 429.
func (a *attachedCollector) newRepeat(r *colly.Request, repeats int) *colly.Request {
	again := *r
	if canReplaceVisitedSet() {
		*requestCollector(&again) = a.collector
	}
	target := *r.URL
	again.URL = &target
	header := r.Headers.Clone()
	again.Headers = &header
	mark := repeatMarkFor(r)
	again.Body = &repeatMark{
		byExtension:   true,
		body:          copyReader(mark.body),
		repeats:       repeats,
		hops:          mark.hops,
		checksVisited: mark.checksVisited,
		bypassesCache: mark.bypassesCache,
		precedesGet:   mark.precedesGet,
	}
	return &again
}

// copyReader returns a reader that reads what is left of body without changing
// body. It can copy only the types that Collector.Post and PostRaw make; for
// any other type and for nil, it returns body itself.
func copyReader(body io.Reader) io.Reader {
	switch r := body.(type) {
	case *bytes.Reader:
		again := *r
		return &again
	case *strings.Reader:
		again := *r
		return &again
	}
	return body
}

// maxHops is the number of refusals after a redirect at which a request is
// given up. Each repeat begins with the redirect, which may itself be the
// reason why the host is not due.
const maxHops = 5

// putBackDelayed puts back a request that the Limiter refused.
func (a *attachedCollector) putBackDelayed(r *colly.Request, delay *politeness.DelayError) {
	mark := repeatMarkFor(r)
	if !mark.willRepeat { // as decided by markFailed
		if a.PutBack && mark.hops == maxHops {
			a.tally(&a.counts.GivenUp, 1)
		}
		return
	}
	a.tally(&a.counts.PutBack, 1)
	again := a.newRepeat(r, mark.repeats)
	a.uncountLost(r.Body.(*repeatMark))
	a.logPause(r.URL, time.Now(), delay.Until, delay.Reason)
	a.repeatLater(again, delay.Until)
}

// repeatLater makes r, a result of newRepeat, when its host is due. It does not
// wait for the host. On an asynchronous collector, the repeat has a goroutine
// of its own, which waits for the host, and Collector.Wait waits for that
// goroutine. On a synchronous collector, the repeat is queued, so that the
// caller can make other requests.
func (a *attachedCollector) repeatLater(r *colly.Request, until time.Time) {
	p := &putBackRequest{
		ctx:     a.collector.Context,
		url:     r.URL, // which only the repeat uses: see newRepeat
		until:   until,
		limiter: a.opts.Limiter,
	}
	if !a.collector.Async {
		p.run = func() { a.repeat(r) }
		a.putBackQueue.add(p)
		return
	}
	mark := r.Body.(*repeatMark)
	mark.wait = func() {
		mark.wait = nil // the next Retry is the program's
		awaitHost(&a.hostQueues, p)
	}
	a.repeat(r)
}

// repeat submits a request again. If the request fails, OnError receives the
// error. If colly refuses to make the request, OnError is not called.
func (a *attachedCollector) repeat(r *colly.Request) {
	precedesGet := repeatMarkFor(r).precedesGet // on an asynchronous collector, Retry passes the mark to another goroutine
	err := r.Retry()
	if isAny(err, colly.ErrMaxRequests, colly.ErrRetryBodyUnseekable) {
		a.tally(&a.counts.GivenUp, 1)
	}
	if err != nil {
		return
	}
	if precedesGet {
		// Visit returned when this HEAD failed the first time, so the GET is
		// sent here. Like that of Visit, it has a Ctx of its own: otherwise, a
		// nofollow directive in the response to the HEAD would abort it.
		a.collector.Request(http.MethodGet, r.URL.String(), nil, nil, nil)
	}
}

// isHeadOfVisit reports whether r is the HEAD that Visit sends before its GET
// because of CheckHead. It also returns true for a HEAD that
// Collector.Request sends without a body, because colly makes both requests by
// the same call. A HEAD of Collector.Head or Request.Retry differs: colly does
// not check its redirects for visited URLs. One of Request.Do has a Depth of 0,
// unless the program sets another.
//
// On an asynchronous collector, Visit does not wait for the HEAD and always
// sends the GET, so isHeadOfVisit returns false. s is the seal of r. If it is
// nil, the context of r is not known, and isHeadOfVisit does not examine it.
func (a *attachedCollector) isHeadOfVisit(r *colly.Request, s *sealed) bool {
	if !a.collector.CheckHead || a.collector.Async {
		return false
	}
	if r.Method != http.MethodHead || r.Body != nil || r.Depth != 1 {
		return false
	}
	if s == nil {
		return true
	}
	checksVisited, _ := s.Value(colly.CheckRevisitKey).(bool)
	return checksVisited
}
