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

// End says what became of the page, and gives it back to the frontier. The
// error is that of the request.
func (v *Visit) End(ctx context.Context, err error) {
	v.unwatch()
	j, p := v.job, v.page
	j.discovery.seed(v.seen.Decision)

	if err != nil && ctx.Err() != nil { // interrupted: it is as if it had not been asked for
		v.giveBack()
		return
	}
	r := record.Record{URL: v.URL(), Host: frontier.HostKey(p.URL), From: p.From, Decision: v.seen.Decision}
	if !v.seen.Sent.IsZero() {
		r.Waited = record.Seconds(v.seen.Sent.Sub(p.Ready))
		for _, request := range v.seen.Requests {
			request.Interval = record.Seconds(v.interval())
			r.Requests = append(r.Requests, request)
		}
		r.PausedUntil = j.witness.Pause(r.Host)
	}
	if kind := v.says.Refusal.Kind; kind != 0 && kind != refusal.RateLimit { // of which the status says all
		r.Refusal = &v.says.Refusal
	}
	switch {
	case err == nil && v.response == nil:
		v.unanswered(r, errors.New("a callback aborted the request"))
	case err != nil:
		v.unanswered(r, err)
	case record.VerdictOf(v.response.StatusCode) == record.PutOff:
		v.putOff(r)
	default:
		if v.response.StatusCode < http.StatusInternalServerError {
			v.job.health.answer(r.Host, r.URL)
		}
		v.fetched(r)
	}
}

// giveBack queues the page as it was. Others may go on with its host.
func (v *Visit) giveBack() { v.job.frontier.PutBack(v.page, v.seen.Sent.Add(v.interval())) }

// done says that the page is finished with.
func (v *Visit) done(r record.Record) {
	v.job.ledger.Add(r)
	v.job.frontier.Done(v.page, v.seen.Sent, v.interval())
}

// fetched deals with an answer: its directives, and the URLs that it leads to.
func (v *Visit) fetched(r record.Record) {
	resp := v.response
	r.Verdict, r.Status = record.VerdictOf(resp.StatusCode), resp.StatusCode
	if v.says.Refusal.Sure && (r.Verdict == record.Fetched || r.Verdict == record.Moved) {
		r.Verdict = record.Refused // the page of a wall, or the way to it
	}
	if r.Verdict == record.Fetched && !v.page.Sitemap {
		if err := v.job.opts.pages.Keep(r.URL, resp, v.says); err != nil {
			v.job.fail(fmt.Errorf("%w: %w", errFailed, err))
			v.giveBack()
			return
		}
	}
	if v.linksError != nil {
		r.Error = reason(v.linksError)
	}
	if r.Verdict == record.Moved {
		v.links, v.left = nil, nil
		if location := resp.Headers.Get("Location"); location == "" {
			r.Verdict, r.Error = record.Failed, "a redirect without a Location"
		} else {
			r.Location = resp.Request.AbsoluteURL(location)
			v.links = []string{r.Location}
		}
	}
	if r.Verdict == record.Fetched || r.Verdict == record.Moved { // else it is not the page that says so
		r.NoIndex, r.NoFollow, r.Said = v.says.NoIndex(), v.says.NoFollow(), v.said
	}
	if r.Verdict == record.Moved && r.NoFollow {
		v.links, v.left = nil, v.links
	}
	r.LinksLeft = len(v.left)
	discovery := &v.job.discovery
	switch {
	case r.Verdict == record.Moved:
		r.Links = discovery.follow(frontier.Page{From: r.URL, Depth: v.page.Depth, Sitemap: v.page.Sitemap}, v.links)
	case v.page.Sitemap && r.Verdict == record.Fetched:
		r.Links = discovery.sow(v.page.URL, resp.Body)
	case r.Verdict == record.Fetched:
		r.Links = discovery.follow(frontier.Page{From: r.URL, Depth: v.page.Depth + 1}, v.links)
	}
	v.done(r)
}

// putOff queues a page again whose server has no time for it, unless it was
// asked for too often. Where the server says for how long, its host is left
// alone until then. Where it does not, the page may be broken and the host well:
// so the page waits by itself, while the host goes on with others at the pace
// that the Limiter knows, and is given up if it fails again beside pages that do
// not.
func (v *Visit) putOff(r record.Record) {
	p, now := v.page, time.Now()
	p.Puts++
	r.Status, r.Tries = v.response.StatusCode, p.Puts
	wait, asked := retryAfter(*v.response.Headers, now)
	broken := r.Status == http.StatusServiceUnavailable && !asked && v.job.health.putOff(r.Host, r.URL)
	if broken || r.Tries == record.MaxTries {
		r.Verdict = record.GivenUp
		v.done(r)
		return
	}
	rest := now.Add(v.interval())
	if asked {
		rest = now.Add(wait)
		p.Due = rest
	} else {
		p.Due = now.Add(patience(v.interval(), p.Puts))
	}
	r.Verdict, r.Again = record.PutOff, record.Seconds(p.Due.Sub(now))
	v.job.ledger.Add(r)
	v.job.frontier.PutBack(p, rest)
}

// retryAfter is how long a response asks to be left alone, if it does: up to a
// day, as the Limiter has it.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	wait, ok := politeness.RetryAfter(h, now)
	return min(wait, 24*time.Hour), ok
}

// patience is how long a page waits after it was put off for the n-th time: so
// long that some ten pages of its host come before it, and twice as long each
// time.
func patience(interval time.Duration, n int) time.Duration {
	return 10 * max(interval, 100*time.Millisecond) << (n - 1)
}

// unanswered deals with a page that there is no answer for.
func (v *Visit) unanswered(r record.Record, err error) {
	j, p := v.job, v.page
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		if delay.Reason == "budget" && delay.Err == nil {
			j.Logger.Warn("the budget of a host is spent for today: it goes on tomorrow", "host", delay.Host, "at", delay.Until.UTC().Round(time.Second))
		}
		j.frontier.PutBack(p, delay.Until) // it was not asked for: there is nothing to say about it
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
	r.Verdict = record.Blocked
	if errors.Is(err, robotsmw.ErrUnreachable) {
		r.Verdict, r.Error = record.Unreachable, "robots.txt: "+disallowed.Decision.Cause
	}
	j.ledger.Add(r)
	j.frontier.Refund(p)
}

// interval is how long the host of a page that was fetched is to be left alone,
// as far as the spider knows: a worker that is early waits in the Limiter,
// which knows better.
func (v *Visit) interval() time.Duration {
	interval := max(v.job.Delay, 0)
	if v.seen.Decision != nil {
		interval = max(interval, v.seen.Decision.CrawlDelay)
	}
	return interval
}

// reason is an error without the URL, which stands beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}
