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
	line := func(k kind, e *politeness.Event, members func([]byte, *politeness.Event) []byte) {
		now := time.Now()
		buf := buffers.Get().(*[]byte)
		b := begin((*buf)[:0], k, now)
		b = appendNumber(b, "limiter", limiter)
		b = appendNumber(b, "request", int64(e.Request))
		b = members(b, e)
		q.put(entry{kind: k, time: now}, b)
		*buf = b
		buffers.Put(buf)
	}
	return &politeness.Observer{
		Granted: func(ctx context.Context, e politeness.Event) {
			now := time.Now()
			buf := buffers.Get().(*[]byte)
			b := begin((*buf)[:0], kindRequest, now)
			b = appendNumber(b, "limiter", limiter)
			b = appendNumber(b, "request", int64(e.Request))
			url := ""
			if e.URL != nil {
				url = redacted(e.URL)
			}
			b = appendText(b, "url", url)
			b = appendText(b, "host", e.Host)
			b = appendTrue(b, "robots", e.Exempt)
			b = appendTime(b, "start", e.At)
			b = appendSeconds(b, "interval", max(e.Delay, e.CrawlDelay))
			b = appendPlain(b, "interval_why", intervalWhy(&e, own))
			b = appendSeconds(b, "delay", e.Delay)
			b = appendWait(b, "crawl_delay", e.CrawlDelay)
			b = appendTime(b, "paused_until", e.Until)
			b = appendWait(b, "waited", e.Wait)
			b = appendPlain(b, "waited_for", string(e.Reason))
			if d := robotsmw.DecisionOf(ctx); d != nil && !e.Exempt {
				b = appendDecision(b, d)
			}
			about := ""
			if e.Exempt {
				about = url
			}
			q.put(entry{kind: kindRequest, time: now, about: about}, b)
			*buf = b
			buffers.Put(buf)
		},
		Answered: func(_ context.Context, e politeness.Event) {
			if e.RetryAfter != "" || e.Status == 429 || e.Status == 503 {
				line(kindAnswer, &e, appendAnswer)
			}
		},
		BackedOff: func(_ context.Context, e politeness.Event) { line(kindPause, &e, appendPause) },
		Ended:     func(_ context.Context, e politeness.Event) { line(kindDone, &e, appendDone) },
	}
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
