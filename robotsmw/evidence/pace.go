package evidence

import (
	"context"
	"encoding/json"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// pace returns an Observer that records what a Limiter does. limiter is the
// Limiter's number in the session.
func pace(q *queue, limiter int) *politeness.Observer {
	line := func(kind string, e *politeness.Event, members ...any) entry {
		own := newEntry(kind, "limiter", limiter, "request", int(e.Request))
		own.text = appendMembers(own.text, members...)
		return own
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
			request := line("request", &e, "url", url, "host", e.Host, "robots", e.Exempt, "start", e.At,
				"interval", seconds(max(e.Delay, e.CrawlDelay)), "interval_why", string(intervalWhy(&e)), "delay", seconds(e.Delay), "crawl_delay", e.CrawlDelay, "crawl_delay_agreed", e.Agreed,
				"paused_until", e.Until, "waited", e.Wait, "waited_for", string(e.Reason), "decision", decision)
			if e.Exempt {
				request.about = url
			}
			q.put(request)
		},
		Answered: func(_ context.Context, e politeness.Event) {
			if e.RetryAfter != "" || httpstatus.IsThrottled(e.Status) || httpstatus.IsOverloaded(e.Status) {
				q.put(line("answer", &e, "host", e.Host, "at", e.At, "status", e.Status, "retry_after", short(e.RetryAfter), "asks", e.Wait))
			}
		},
		BackedOff: func(_ context.Context, e politeness.Event) {
			q.put(line("pause", &e, "host", e.Host, "at", e.At, "wait", seconds(e.Wait), "until", e.At.Add(e.Wait), "status", e.Status))
		},
		Ended: func(_ context.Context, e politeness.Event) {
			q.put(line("done", &e, "end", e.At, "status", e.Status, "seconds", seconds(e.Wait)))
		},
	}
}

func intervalWhy(e *politeness.Event) politeness.Reason {
	switch {
	case e.CrawlDelay > e.Delay:
		return politeness.ReasonCrawlDelay
	case e.Adaptive:
		return politeness.ReasonAdaptive
	}
	return politeness.ReasonDelay
}
