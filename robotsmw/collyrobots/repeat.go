package collyrobots

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// markFailed marks a request that failed with err.
func (a *attachedCollector) markFailed(r *colly.Request, err error) {
	was := repeatMarkFor(r)
	b := &repeatMark{body: was.body, err: err, at: time.Now(), repeats: was.repeats, hops: was.hops}
	r.Body = b
	why := unreachable
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		b.final = !errors.Is(err, robotsmw.ErrUnreachable)
		b.until = cmp.Or(blocked.Decision.NextTry, b.at)
	} else if b.lost = isLost(err); b.lost {
		a.tally(&a.counts.Lost, 1)
	} else if errors.Is(err, robotsmw.ErrAddressRefused) {
		b.final = true
	}
	if delay, ok := errors.AsType[*notDue](err); ok {
		b.until, why = delay.Until, delay.Reason
		b.checked = delay.checked && !delay.hop // what the redirects led to is visited now
		if delay.hop {
			b.hops++
		}
		b.willRepeat = a.PutBack && b.hops < maxHops && a.collector.Context.Err() == nil
		b.final = b.willRepeat
	}
	target := *r.URL
	b.wait = func() {
		a.logPause(&target, b.at, b.until, why)
		sleepUntil(a.collector.Context, b.until) // after an error, the request fails with it
	}
}

// repeatable reports whether RetryThrottled is about a response.
func (a *attachedCollector) repeatable(r *colly.Response) bool {
	if !httpstatus.IsThrottled(r.StatusCode) && !httpstatus.IsOverloaded(r.StatusCode) {
		return false
	}
	return a.RetryThrottled > 0 && (r.Request.Method == http.MethodGet || r.Request.Method == http.MethodHead)
}

// throttled repeats a GET or HEAD that was answered 429, 430, 503 or 529, up to
// RetryThrottled times.
func (a *attachedCollector) throttled(r *colly.Response) {
	if !a.repeatable(r) {
		return
	}
	repeats := repeatMarkFor(r.Request).repeats
	if repeats >= a.RetryThrottled {
		a.tally(&a.counts.GivenUp, 1)
		return
	}
	a.tally(&a.counts.Retried, 1)
	again := newRepeat(r.Request, repeats+1)
	if a.PutBack {
		a.repeatLater(again, time.Time{})
	} else {
		a.repeat(again) // the request waits in the Limiter
	}
}

// newRepeat returns a request that repeats r. It has a header of its own,
// because a handler of the program's may still change that of r.
func newRepeat(r *colly.Request, repeats int) *colly.Request {
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
func (a *attachedCollector) delayed(r *colly.Request, delay *politeness.DelayError) {
	was := repeatMarkFor(r)
	if !was.final { // markFailed has decided
		if was.hops == maxHops {
			a.tally(&a.counts.GivenUp, 1)
		}
		return
	}
	a.tally(&a.counts.PutBack, 1)
	again := newRepeat(r, was.repeats)
	a.uncountLost(r.Body.(*repeatMark))
	a.logPause(r.URL, time.Now(), delay.Until, delay.Reason)
	a.repeatLater(again, delay.Until)
}

// park repeats a request when its host is due. On an asynchronous collector,
// where the request has a goroutine of its own, park waits for the request's
// turn. So Collector.Wait waits for the request too. On a synchronous
// collector, park returns at once, because the caller has other work.
func (a *attachedCollector) repeatLater(r *colly.Request, until time.Time) {
	p := &putBackRequest{ctx: a.collector.Context, url: r.URL, until: until, limiter: a.opts.Limiter, run: func() { a.repeat(r) }}
	if !a.collector.Async {
		a.putBackQueue.add(p)
		return
	}
	awaitHost(&a.hostQueues, p)
	p.run()
}

// repeat submits a request again. OnError gets the error if the request fails,
// but not if colly refuses to make the request.
func (a *attachedCollector) repeat(r *colly.Request) {
	switch err := r.Retry(); {
	case err == colly.ErrMaxRequests, err == colly.ErrRetryBodyUnseekable:
		a.tally(&a.counts.GivenUp, 1)
	case err == nil && a.collector.CheckHead && !a.collector.Async && r.Method == http.MethodHead:
		// With CheckHead, Visit sends a HEAD before the GET. It returned when
		// this HEAD failed the first time, so the GET is sent here.
		page := *r
		page.Method = http.MethodGet
		page.Do()
	}
}
