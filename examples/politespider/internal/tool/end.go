package tool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
)

// End reports the outcome of the request, and passes the page to the frontier:
// as done, or to be retried. err is the error of the request, or nil.
func (v *Visit) End(ctx context.Context, err error) {
	v.job.recorder.attempts.Delete(v.URL())
	v.job.queueSitemaps(v.attempt.decision)
	if err != nil && ctx.Err() != nil { // interrupted: the page counts as not requested
		v.giveBack()
		return
	}
	r := v.newRecord()
	switch {
	case v.check != "":
		v.endCheck(r, err)
	case err == nil && v.response == nil:
		v.endWithoutResponse(r, errors.New("a callback aborted the request"))
	case err != nil:
		v.endWithoutResponse(r, err)
	case record.StatusVerdict(v.response.StatusCode) == record.PutOff:
		v.putOff(r)
	default:
		if v.response.StatusCode < http.StatusInternalServerError {
			v.job.health.addResponse(record.Origin(v.page.URL), r.URL, v.fitForCheck())
		}
		v.endWithResponse(r)
	}
}

// newRecord returns a record of the visit without its outcome.
func (v *Visit) newRecord() record.Record {
	r := record.Record{
		URL:      v.URL(),
		Host:     v.page.Host,
		From:     v.page.From,
		Decision: v.attempt.decision,
		Refusal:  v.refusal(),
	}
	if v.attempt.start.IsZero() {
		return r
	}
	r.Waited = record.Seconds(v.attempt.start.Sub(v.page.Ready))
	r.Requests = v.attempt.requests
	for i := range r.Requests {
		r.Requests[i].Interval = record.Seconds(v.interval())
	}
	r.PausedUntil = v.job.recorder.takePauseEnd(r.Host)
	return r
}

// refusal returns the bot protection that responded instead of the page, or
// nil. A rate limit is omitted, because its status is sufficient. The result is
// a copy, so that the summary, which keeps it, does not keep v with the body.
func (v *Visit) refusal() *refusal.Refusal {
	found := v.directives.Refusal
	if found.Kind == 0 || found.Kind == refusal.RateLimit {
		return nil
	}
	return &found
}

// endCheck ends a visit whose request was to check the server and not for the
// page (see health). It reports the request if it was sent, and queues the page
// again.
func (v *Visit) endCheck(r record.Record, err error) {
	if _, ok := errors.AsType[*politeness.DelayError](err); ok {
		v.endWithoutResponse(r, err) // the page waits until the host is due
		return
	}
	r.Verdict = record.Checked
	r.From = ""
	r.For = v.page.URL
	responded := false
	due := v.attempt.start.Add(v.interval())
	switch {
	case err != nil:
		r.Error = reason(err)
	case v.response != nil:
		r.Status = v.response.StatusCode
		if record.StatusVerdict(r.Status) != record.PutOff {
			responded = r.Status < http.StatusInternalServerError && !isFromCache(*v.response.Headers)
		} else if wait, ok := retryAfter(*v.response.Headers, time.Now()); ok {
			due = time.Now().Add(wait) // as in putOff: a later run also obeys this Retry-After
		}
	}
	v.job.health.addCheck(record.Origin(v.page.URL), responded)
	if !v.attempt.start.IsZero() {
		v.job.ledger.Add(r)
	}
	v.job.frontier.PutBack(v.page, due)
}

// fitForCheck reports whether a later check of the server can request this
// page: whether it is an HTML page that is not large.
func (v *Visit) fitForCheck() bool {
	const maxBytes = 128 << 10
	isHTML := v.directives.State == robotsmw.PageComplete && !v.page.Sitemap
	return isHTML && v.response.StatusCode == http.StatusOK && len(v.response.Body) <= maxBytes
}

// giveBack queues the page again, unchanged. If a request was sent, the host is
// due one interval after it.
func (v *Visit) giveBack() {
	v.job.frontier.PutBack(v.page, v.attempt.start.Add(v.interval()))
}

// done reports the final verdict on the page.
func (v *Visit) done(r record.Record) {
	v.job.ledger.Add(r)
	if r.Verdict == record.Refused {
		v.job.frontier.Refuse(v.page, v.attempt.start, v.interval())
	} else {
		v.job.frontier.Done(v.page, v.attempt.start, v.interval())
	}
}

// endWithResponse ends a visit whose response is neither 429 nor 503. It keeps
// the page, records its directives, and queues its links.
func (v *Visit) endWithResponse(r record.Record) {
	r.Status = v.response.StatusCode
	r.Verdict = record.StatusVerdict(r.Status)
	isPage := r.Verdict == record.Fetched || r.Verdict == record.Moved
	if isPage && v.directives.Refusal.Sure {
		r.Verdict = record.Refused
	}
	if v.linksError != nil {
		r.Error = reason(v.linksError)
	}
	next := frontier.Page{From: r.URL, Depth: v.page.Depth + 1}
	switch r.Verdict {
	case record.Fetched:
		if err := v.keepPage(&r); err != nil {
			v.job.fail(fmt.Errorf("%w: %w", errFailed, err))
			v.giveBack()
			return
		}
	case record.Moved:
		next.Depth = v.page.Depth
		next.Sitemap = v.page.Sitemap
		v.followRedirect(&r)
	case record.Unchanged:
		if again := v.reuseLinks(&r); again {
			v.giveBack()
			return
		}
	}
	r.LinksLeft = len(v.links.NotFollow)
	switch r.Verdict {
	case record.Fetched, record.Moved, record.Unchanged: // other responses have no directives of the page
		r.NoIndex = v.directives.NoIndex()
		r.NoFollow = v.directives.NoFollow()
		r.Links += v.job.queueLinks(next, v.links.Follow)
	}
	v.done(r)
}

// keepPage stores a page that was fetched, and its links. If the page is a
// sitemap, keepPage queues the URLs in it instead of storing the page.
func (v *Visit) keepPage(r *record.Record) error {
	j := v.job
	if !v.page.Sitemap {
		if err := j.opts.pages.Keep(r.URL, v.response, v.directives); err != nil {
			return err
		}
	}
	r.PageInfo = v.info
	if v.linksError == nil {
		j.revisits.storeLinks(r.URL, v.links)
	}
	if v.page.Sitemap {
		r.Links = j.queueSitemapEntries(v.response.Request.URL, v.response.Body)
		v.links.Follow = nil
	}
	return nil
}

// followRedirect replaces the links by the target of a redirect.
func (v *Visit) followRedirect(r *record.Record) {
	v.links = storedLinks{}
	location := v.response.Headers.Get("Location")
	if location == "" {
		r.Verdict = record.Failed
		r.Error = "a redirect without a Location"
		return
	}
	r.Location = v.response.Request.AbsoluteURL(location)
	r.PageInfo = v.info
	if v.directives.NoFollow() {
		v.links.NotFollow = []string{r.Location}
	} else {
		v.links.Follow = []string{r.Location}
	}
}

// reuseLinks sets the links of a page with status 304 to those of an earlier
// crawl. If they are not known, it reports that the page must be requested
// again.
func (v *Visit) reuseLinks(r *record.Record) (again bool) {
	isUnconditional := v.Header() != nil
	links, ok := v.job.revisits.loadLinks(r.URL)
	v.links = links
	isUnexpected := v.job.revisits == nil || isUnconditional
	if !ok && isUnexpected {
		r.Verdict = record.Failed
		r.Error = "an unexpected 304 (Not Modified)"
		return false
	}
	return !ok
}

// putOff queues a page again after a 429 or 503, unless the page was requested
// too often. If the response has a Retry-After, the whole host is paused.
//
// Without a Retry-After, perhaps only this page is broken, so only this page
// waits. If the health of the server then shows that it is broken, putOff gives
// the page up.
func (v *Visit) putOff(r record.Record) {
	now := time.Now()
	p := v.page
	p.Puts++
	r.Status = v.response.StatusCode
	r.Tries = p.Puts
	wait, hasRetryAfter := retryAfter(*v.response.Headers, now)
	isBroken := false
	if r.Status == http.StatusServiceUnavailable && !hasRetryAfter {
		isBroken = v.job.health.putOff(record.Origin(p.URL), r.URL, p.Puts)
	}
	if isBroken || r.Tries == record.MaxTries {
		r.Verdict = record.GivenUp
		if r.Tries < record.MaxTries {
			r.Error = "its server has responded to other requests in the meantime"
		}
		v.done(r)
		return
	}
	hostDue := now.Add(v.interval())
	p.Due = now.Add(retryDelay(v.interval(), p.Puts))
	if hasRetryAfter {
		hostDue = now.Add(wait)
		p.Due = hostDue
	}
	pause := r.PausedUntil - v.job.ledger.Offset(now) // the Limiter may pause the host for longer
	again := max(p.Due.Sub(now), record.Duration(pause))
	r.Verdict = record.PutOff
	r.RetryIn = record.Seconds(again)
	v.job.ledger.Add(r)
	v.job.frontier.PutBack(p, hostDue)
}

// retryAfter returns the delay that a response requests, at most
// politeness.DefaultMaxRetryAfter, as in the Limiter. It returns false if the
// response requests none.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	wait, ok := politeness.RetryAfter(h, now)
	return min(wait, politeness.DefaultMaxRetryAfter), ok
}

// retryDelay returns how long a page waits after it was put off for the n-th
// time: ten intervals of its host, doubled for each time after the first. An
// interval below 100 ms counts as 100 ms.
func retryDelay(interval time.Duration, n int) time.Duration {
	return 10 * max(interval, 100*time.Millisecond) << (n - 1)
}

// endWithoutResponse ends a visit without a response. err is the reason.
func (v *Visit) endWithoutResponse(r record.Record, err error) {
	j := v.job
	p := v.page
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		if delay.Reason == politeness.ReasonBudget && delay.Err == nil {
			j.Logger.Warn("the daily budget of a host is exhausted; its crawl resumes the next day",
				"host", delay.Host,
				"at", delay.Until.UTC().Round(time.Second))
		}
		j.frontier.PutBack(p, delay.Until) // no request was sent, so there is none to report
		return
	}
	disallowed, ok := errors.AsType[*robotsmw.DisallowedError](err)
	if !ok {
		r.Verdict = record.Failed
		r.Error = reason(err)
		j.ledger.Add(r)
		j.frontier.Done(p, time.Now(), 0)
		return
	}
	r.Decision = &disallowed.Decision
	r.Verdict = record.Disallowed
	if disallowed.Decision.Reason == robotsmw.Unreachable {
		r.Verdict = record.Unreachable
		r.Error = "robots.txt: " + record.Cause(disallowed.Decision.Cause)
	}
	j.ledger.Add(r)
	j.frontier.Refund(p)
}

// interval returns the interval of the page's host that the flags and
// robots.txt set. If the interval of the Limiter is longer, the worker waits in
// the Limiter.
func (v *Visit) interval() time.Duration {
	interval := max(v.job.Delay, 0)
	if v.attempt.decision != nil {
		interval = max(interval, v.attempt.decision.CrawlDelay)
	}
	return interval
}

// reason returns the text of an error without the URL, because the output shows
// the URL anyway.
func reason(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return record.Cause(err.Error())
}
