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

// End reports how the page's request ended, and passes the outcome of the page
// to the frontier. The argument err is the request's error, if there is one.
func (v *Visit) End(ctx context.Context, err error) {
	j, p := v.job, v.page
	j.witness.attempts.Delete(v.URL())
	j.queueSitemaps(v.attempt.decision)

	if err != nil && ctx.Err() != nil { // interrupted: the page counts as not requested
		v.giveBack()
		return
	}
	r := record.Record{URL: v.URL(), Host: p.Host, From: p.From, Decision: v.attempt.decision}
	if !v.attempt.start.IsZero() {
		r.Waited = record.Seconds(v.attempt.start.Sub(p.Ready))
		r.Requests = v.attempt.requests
		for i := range r.Requests {
			r.Requests[i].Interval = record.Seconds(v.interval())
		}
		r.PausedUntil = j.witness.takePauseEnd(r.Host)
	}
	r.Refusal = v.refusal()
	switch {
	case v.check != "":
		v.checked(r, err)
	case err == nil && v.response == nil:
		v.unanswered(r, errors.New("a callback aborted the request"))
	case err != nil:
		v.unanswered(r, err)
	case record.VerdictOf(v.response.StatusCode) == record.PutOff:
		v.putOff(r)
	default:
		if v.response.StatusCode < http.StatusInternalServerError {
			v.job.health.answer(record.OriginOf(v.page.URL), r.URL, v.fitForCheck())
		}
		v.fetched(r)
	}
}

// refusal returns how bot protection refused the page, or nil if it did not. A
// rate limit is left out, because it is clear from the status alone. The result
// is a copy: the summary keeps it, but must not keep v with the body.
func (v *Visit) refusal() *refusal.Refusal {
	found := v.says.Refusal
	if found.Kind == 0 || found.Kind == refusal.RateLimit {
		return nil
	}
	return &found
}

// checked() handles the end of a request that checked the server in place of
// the page (see health). It reports the request if it was sent, and queues the
// page again.
func (v *Visit) checked(r record.Record, err error) {
	if _, ok := errors.AsType[*politeness.DelayError](err); ok {
		v.unanswered(r, err) // the page waits until the host may be asked
		return
	}
	r.Verdict = record.Checked
	r.From = ""
	r.For = v.page.URL
	answered, rest := false, v.attempt.start.Add(v.interval())
	switch {
	case err != nil:
		r.Error = reason(err)
	case v.response != nil:
		r.Status = v.response.StatusCode
		if record.VerdictOf(r.Status) != record.PutOff {
			answered = r.Status < http.StatusInternalServerError && !fromCache(*v.response.Headers)
		} else if wait, asked := retryAfter(*v.response.Headers, time.Now()); asked {
			rest = time.Now().Add(wait) // as in putOff: a later run also obeys this Retry-After
		}
	}
	v.job.health.checked(record.OriginOf(v.page.URL), answered)
	if !v.attempt.start.IsZero() {
		v.job.ledger.Add(r)
	}
	v.job.frontier.PutBack(v.page, rest)
}

// fitForCheck reports whether the page may be asked for again, to check its
// server: it is an HTML page that is not large.
func (v *Visit) fitForCheck() bool {
	const most = 128 << 10
	return v.says.State == robotsmw.PageComplete && v.response.StatusCode == http.StatusOK && !v.page.Sitemap && len(v.response.Body) <= most
}

// giveBack queues the page again, unchanged. If a request was sent, the host
// must be left alone for one interval from that request on.
func (v *Visit) giveBack() { v.job.frontier.PutBack(v.page, v.attempt.start.Add(v.interval())) }

func (v *Visit) done(r record.Record) {
	v.job.ledger.Add(r)
	if r.Verdict == record.Refused {
		v.job.frontier.Refuse(v.page, v.attempt.start, v.interval())
	} else {
		v.job.frontier.Done(v.page, v.attempt.start, v.interval())
	}
}

// fetched() handles an answer other than 429 or 503. It keeps the page, records
// its directives, and queues the URLs of its links.
func (v *Visit) fetched(r record.Record) {
	j := v.job
	r.Verdict, r.Status = record.VerdictOf(v.response.StatusCode), v.response.StatusCode
	if v.says.Refusal.Sure && (r.Verdict == record.Fetched || r.Verdict == record.Moved) {
		r.Verdict = record.Refused // the answer is a refusal, not the page or a redirect
	}
	if v.linksError != nil {
		r.Error = reason(v.linksError)
	}
	next := frontier.Page{From: r.URL, Depth: v.page.Depth + 1}
	switch r.Verdict {
	case record.Fetched:
		if !v.page.Sitemap {
			if err := j.opts.pages.Keep(r.URL, v.response, v.says); err != nil {
				j.fail(fmt.Errorf("%w: %w", errFailed, err))
				v.giveBack()
				return
			}
		}
		r.Said = v.said
		if v.linksError == nil {
			j.revisits.keep(r.URL, v.links)
		}
		if v.page.Sitemap {
			r.Links, v.links.Follow = j.queueSitemapEntries(v.response.Request.URL, v.response.Body), nil
		}
	case record.Moved:
		next.Depth, next.Sitemap = v.page.Depth, v.page.Sitemap
		v.moved(&r)
	case record.Unchanged:
		if again := v.unchanged(&r); again {
			v.giveBack()
			return
		}
	}
	r.LinksLeft = len(v.links.Leave)
	switch r.Verdict {
	case record.Fetched, record.Moved, record.Unchanged: // other responses contain no directives of the page
		r.NoIndex, r.NoFollow = v.says.NoIndex(), v.says.NoFollow()
		r.Links += j.queueLinks(next, v.links.Follow)
	}
	v.done(r)
}

// moved() handles a redirect: its target is the only link.
func (v *Visit) moved(r *record.Record) {
	v.links = keptLinks{}
	location := v.response.Headers.Get("Location")
	if location == "" {
		r.Verdict, r.Error = record.Failed, "a redirect without a Location"
		return
	}
	r.Location, r.Said = v.response.Request.AbsoluteURL(location), v.said
	if v.says.NoFollow() {
		v.links.Leave = []string{r.Location}
	} else {
		v.links.Follow = []string{r.Location}
	}
}

// unchanged() handles a 304: the page is as it was in an earlier crawl, and so
// are its links. If the links are not known, the page has to be asked for
// again.
func (v *Visit) unchanged(r *record.Record) (again bool) {
	isWhole := v.Header() != nil
	links, ok := v.job.revisits.recall(r.URL)
	v.links = links
	if !ok && (v.job.revisits == nil || isWhole) {
		r.Verdict, r.Error = record.Failed, "an unexpected 304 (Not Modified)"
		return false
	}
	return !ok
}

// putOff queues a page again after a 429 or 503, unless the page was requested
// too often. If the answer has a Retry-After, the spider leaves the whole host
// alone for that time.
//
// If the answer has no Retry-After, perhaps only this page is broken. So only
// this page waits, and the spider goes on with the host's other pages. Later,
// the page may get a 503 without a Retry-After again. If its server has
// answered a request for another page in between, putOff gives the page up. See
// health.
func (v *Visit) putOff(r record.Record) {
	p, now := v.page, time.Now()
	p.Puts++
	r.Status, r.Tries = v.response.StatusCode, p.Puts
	wait, asked := retryAfter(*v.response.Headers, now)
	broken := r.Status == http.StatusServiceUnavailable && !asked && v.job.health.putOff(record.OriginOf(p.URL), r.URL, p.Puts)
	if broken || r.Tries == record.MaxTries {
		r.Verdict = record.GivenUp
		if r.Tries < record.MaxTries {
			r.Error = "its server has responded to other requests in the meantime"
		}
		v.done(r)
		return
	}
	rest := now.Add(v.interval())
	p.Due = now.Add(patience(v.interval(), p.Puts))
	if asked {
		rest = now.Add(wait)
		p.Due = rest
	}
	host := r.PausedUntil - v.job.ledger.Offset(now) // the Limiter may pause the host for longer
	again := max(p.Due.Sub(now), record.Duration(host))
	r.Verdict, r.Again = record.PutOff, record.Seconds(again)
	v.job.ledger.Add(r)
	v.job.frontier.PutBack(p, rest)
}

// retryAfter returns for how long a response requests that the spider waits.
// Like the Limiter, it returns politeness.DefaultMaxRetryAfter at most. It
// returns false if the response requests no wait.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	wait, ok := politeness.RetryAfter(h, now)
	return min(wait, politeness.DefaultMaxRetryAfter), ok
}

// patience returns how long a page waits after it was put off for the n-th
// time. The first wait is ten intervals of its host, and each further wait is
// twice as long as the wait before. An interval below 100 ms counts as 100 ms.
func patience(interval time.Duration, n int) time.Duration {
	return 10 * max(interval, 100*time.Millisecond) << (n - 1)
}

func (v *Visit) unanswered(r record.Record, err error) {
	j, p := v.job, v.page
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		if delay.Reason == politeness.ReasonBudget && delay.Err == nil {
			j.Logger.Warn("the daily budget of a host is exhausted; its crawl resumes the next day", "host", delay.Host, "at", delay.Until.UTC().Round(time.Second))
		}
		j.frontier.PutBack(p, delay.Until) // nothing was sent, so there is nothing to report
		return
	}
	disallowed, ok := errors.AsType[*robotsmw.DisallowedError](err)
	if !ok {
		r.Verdict, r.Error = record.Failed, reason(err)
		j.ledger.Add(r)
		j.frontier.Done(p, time.Now(), 0)
		return
	}
	r.Decision = &disallowed.Decision
	r.Verdict = record.Disallowed
	if disallowed.Decision.Reason == robotsmw.Unreachable {
		r.Verdict, r.Error = record.Unreachable, "robots.txt: "+record.Cause(disallowed.Decision.Cause)
	}
	j.ledger.Add(r)
	j.frontier.Refund(p)
}

// interval() returns the interval of the page's host, as far as the spider
// knows it. If the Limiter has a longer interval, the worker waits in the
// Limiter.
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
