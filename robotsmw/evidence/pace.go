package evidence

import (
	"context"
	"encoding/json"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// limiterObserver returns an Observer that records the events of a Limiter.
// limiter is the number of the Limiter in the session.
func limiterObserver(q *queue, limiter int) *politeness.Observer {
	newLine := func(kind string, e *politeness.Event, members ...any) entry {
		line := newEntry(kind, "limiter", limiter, "request", int(e.Request))
		line.text = appendMembers(line.text, members...)
		return line
	}
	return &politeness.Observer{
		Granted: func(ctx context.Context, e politeness.Event) {
			url, decision := "", json.RawMessage(nil)
			if e.URL != nil {
				url = redacted(e.URL)
			}
			if d := robotsmw.DecisionOf(ctx); d != nil && !e.Exempt {
				decision = decisionText(d)
			}
			request := newLine("request", &e,
				"url", url,
				"host", e.Host,
				"robots", e.Exempt,
				"start", e.At,
				"interval", seconds(max(e.Delay, e.CrawlDelay)),
				"interval_why", string(intervalReason(&e)),
				"delay", seconds(e.Delay),
				"crawl_delay", e.CrawlDelay,
				"crawl_delay_agreed", e.Agreed,
				"paused_until", e.Until,
				"waited", e.Wait,
				"waited_for", string(e.Reason),
				"decision", decision,
			)
			if e.Exempt {
				request.robots = url
			}
			q.put(request)
		},
		Answered: func(_ context.Context, e politeness.Event) {
			mayDelay := httpstatus.IsThrottled(e.Status) || httpstatus.IsOverloaded(e.Status)
			if mayDelay || e.RetryAfter != "" {
				q.put(newLine("answer", &e,
					"host", e.Host,
					"at", e.At,
					"status", e.Status,
					"retry_after", shorten(e.RetryAfter),
					"asks", e.Wait,
				))
			}
		},
		BackedOff: func(_ context.Context, e politeness.Event) {
			q.put(newLine("pause", &e,
				"host", e.Host,
				"at", e.At,
				"wait", seconds(e.Wait),
				"until", e.At.Add(e.Wait),
				"status", e.Status,
			))
		},
		Ended: func(_ context.Context, e politeness.Event) {
			q.put(newLine("done", &e, "end", e.At, "status", e.Status, "seconds", seconds(e.Wait)))
		},
	}
}

// intervalReason returns the value of the member interval_why: the reason for
// the larger of the event's Delay and CrawlDelay.
func intervalReason(e *politeness.Event) politeness.Reason {
	if e.CrawlDelay > e.Delay {
		return politeness.ReasonCrawlDelay
	}
	if e.Adaptive {
		return politeness.ReasonAdaptive
	}
	return politeness.ReasonDelay
}
