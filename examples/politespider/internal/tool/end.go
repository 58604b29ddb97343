package tool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// End says what became of the page, and gives it back to the frontier. The
// error is that of the request.
func (v *Visit) End(ctx context.Context, err error) {
	v.unwatch()
	j, p := v.job, v.page
	j.discovery.seed(v.seen.Decision)

	if err != nil && ctx.Err() != nil { // interrupted: the page has not had its turn
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
	switch {
	case err == nil && v.response == nil:
		v.refused(r, errors.New("a callback aborted the request"))
	case err != nil:
		v.refused(r, err)
	case v.response.StatusCode == http.StatusTooManyRequests || v.response.StatusCode == http.StatusServiceUnavailable:
		v.putOff(r)
	default:
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
	if !v.page.Sitemap {
		if err := v.job.opts.pages.Keep(r.URL, resp, v.says); err != nil {
			v.job.fail(fmt.Errorf("%w: %w", errFailed, err))
			v.giveBack()
			return
		}
	}
	r.Verdict, r.Status = record.Fetched, resp.StatusCode
	r.NoIndex, r.NoFollow, r.Said = v.says.NoIndex(), v.says.NoFollow(), v.said
	if v.linksError != nil {
		r.Error = reason(v.linksError)
	}
	if location := resp.Headers.Get("Location"); location != "" && r.Status >= 300 && r.Status <= 399 {
		r.Verdict, r.Location = record.Moved, resp.Request.AbsoluteURL(location)
		v.links, v.left = []string{r.Location}, nil
		if r.NoFollow {
			v.links, v.left = v.left, v.links
		}
	}
	r.LinksLeft = len(v.left)
	discovery := &v.job.discovery
	switch {
	case r.Verdict == record.Moved:
		r.Links = discovery.follow(frontier.Page{From: r.URL, Depth: v.page.Depth, Sitemap: v.page.Sitemap}, v.links)
	case v.page.Sitemap && r.Status <= 299:
		r.Links = discovery.sow(v.page.URL, resp.Body)
	case r.Status <= 399:
		r.Links = discovery.follow(frontier.Page{From: r.URL, Depth: v.page.Depth + 1}, v.links)
	}
	v.done(r)
}

// putOff queues a page again whose server asks for time, unless it has done so
// too often.
func (v *Visit) putOff(r record.Record) {
	p, now := v.page, time.Now()
	r.Status, r.Put = v.response.StatusCode, p.Puts
	if p.Puts == record.MaxPuts {
		r.Verdict = record.Missing
		v.done(r)
		return
	}
	p.Puts++
	until := now.Add(retryAfter(v.response.Headers, now))
	r.Verdict, r.Put, r.Again = record.Later, p.Puts, record.Seconds(until.Sub(now))
	v.job.ledger.Add(r)
	v.job.frontier.PutBack(p, until)
}

// refused deals with a page that there is no answer for.
func (v *Visit) refused(r record.Record, err error) {
	j, p := v.job, v.page
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		r.Verdict, r.Again = record.Later, record.Seconds(time.Until(delay.Until))
		j.ledger.Add(r)
		j.frontier.PutBack(p, delay.Until)
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

// retryAfter is how long a response asks us to wait (RFC 9110 §10.2.3); 0 if it
// does not say.
func retryAfter(h *http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// reason is an error without the URL, which stands beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}
