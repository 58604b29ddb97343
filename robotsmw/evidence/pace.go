package evidence

import (
	"context"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// pace returns an Observer that records what a Limiter does. limiter is the
// Limiter's number in the session, and own is the Limiter's Delay.
func pace(q *queue, limiter int64, own time.Duration) *politeness.Observer {
	line := func(k kind, e *politeness.Event, about string, members func([]byte) []byte) {
		now := time.Now()
		buf := buffers.Get().(*[]byte)
		b := begin((*buf)[:0], k, now)
		b = appendNumber(b, "limiter", limiter)
		b = appendNumber(b, "request", int64(e.Request))
		b = members(b)
		q.put(entry{kind: k, time: now, about: about}, b)
		*buf = b
		buffers.Put(buf)
	}
	return &politeness.Observer{
		Granted: func(ctx context.Context, e politeness.Event) {
			url, about := "", ""
			if e.URL != nil {
				url = redacted(e.URL)
			}
			if e.Exempt {
				about = url
			}
			line(kindRequest, &e, about, func(b []byte) []byte {
				b = appendText(b, "url", url)
				b = appendRequest(b, &e, own)
				if d := robotsmw.DecisionOf(ctx); d != nil && !e.Exempt {
					b = appendDecision(b, d)
				}
				return b
			})
		},
		Answered: func(_ context.Context, e politeness.Event) {
			if e.RetryAfter != "" || e.Status == 429 || e.Status == 503 {
				line(kindAnswer, &e, "", func(b []byte) []byte { return appendAnswer(b, &e) })
			}
		},
		BackedOff: func(_ context.Context, e politeness.Event) {
			line(kindPause, &e, "", func(b []byte) []byte { return appendPause(b, &e) })
		},
		Ended: func(_ context.Context, e politeness.Event) {
			line(kindDone, &e, "", func(b []byte) []byte { return appendDone(b, &e) })
		},
	}
}

func appendRequest(b []byte, e *politeness.Event, own time.Duration) []byte {
	b = appendText(b, "host", e.Host)
	b = appendTrue(b, "robots", e.Exempt)
	b = appendTime(b, "start", e.At)
	b = appendSeconds(b, "interval", max(e.Delay, e.CrawlDelay))
	b = appendPlain(b, "interval_why", intervalWhy(e, own))
	b = appendSeconds(b, "delay", e.Delay)
	b = appendWait(b, "crawl_delay", e.CrawlDelay)
	b = appendTime(b, "paused_until", e.Until)
	b = appendWait(b, "waited", e.Wait)
	return appendPlain(b, "waited_for", string(e.Reason))
}

func intervalWhy(e *politeness.Event, own time.Duration) string {
	switch {
	case e.CrawlDelay > e.Delay:
		return "crawl-delay"
	case e.Delay > own:
		return "adaptive delay"
	}
	return "delay"
}

func appendAnswer(b []byte, e *politeness.Event) []byte {
	b = appendText(b, "host", e.Host)
	b = appendTime(b, "at", e.At)
	b = appendNumber(b, "status", int64(e.Status))
	b = appendText(b, "retry_after", short(e.RetryAfter))
	return appendWait(b, "asks", e.Wait)
}

func appendPause(b []byte, e *politeness.Event) []byte {
	b = appendText(b, "host", e.Host)
	b = appendTime(b, "at", e.At)
	b = appendSeconds(b, "wait", e.Wait)
	b = appendTime(b, "until", e.At.Add(e.Wait))
	return appendNumber(b, "status", int64(e.Status))
}

func appendDone(b []byte, e *politeness.Event) []byte {
	b = appendTime(b, "end", e.At)
	b = appendNumber(b, "status", int64(e.Status))
	return appendSeconds(b, "seconds", e.Wait)
}
