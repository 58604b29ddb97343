package politeness

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness/internal/headers"
	"github.com/goodbots/courtesy/politeness/refusal"
)

// learnFrom updates what is known of g's host after a request with outcome o,
// whose sign is s and whose header has asked for a. The event is nil unless a
// pause began or was prolonged.
func (l *Limiter) learnFrom(g *Grant, o *Outcome, s sign, a headers.Asked) (event *Event) {
	if o.Status == 0 && o.Latency == 0 && o.Err == nil {
		return nil
	}
	if g.state == expired {
		l.recall(g, l.now())
	}
	obeyed := a.RetryAfter > 0 && (s >= doubtful || o.Status >= 300)
	if obeyed && s == good && o.Status >= 400 {
		s = silent // a server that requests a pause, whatever the status, is not at ease
	}
	if s == good {
		g.recovered()
	}
	switch {
	case s >= doubtful:
		event = l.backOff(g, *o, s, a.RetryAfter, l.now())
	case obeyed:
		event = l.pause(g, *o, a.RetryAfter, l.now())
	}
	slower := l.Adaptive > 0 && l.adapt(g, *o)
	if len(a.Quotas) > 0 && !obeyed {
		spent, spread := l.heed(g, *o, a, l.now())
		if spent != nil {
			event = spent // spent is nil unless the quota made the pause longer
		}
		slower = slower || spread
	}
	if slower || event != nil {
		l.retime(g.host, l.now())
	}
	return event
}

// signOf returns what an outcome says about the host. clean reports whether the
// status and header were examined and show no refusal. signOf needs no lock.
func signOf(o *Outcome) (s sign, clean bool) {
	if httpstatus.IsThrottled(o.Status) {
		return plain, false
	}
	wall := false
	if len(o.Header) > 0 {
		r, refused := refusal.Of(&http.Response{StatusCode: o.Status, Header: o.Header})
		clean, wall = !refused, refused && isWall(r)
	}
	switch {
	case httpstatus.IsOverloaded(o.Status), wall:
		return doubtful, clean
	case o.Err == nil && o.Status > 0 && o.Status < 500:
		return good, clean
	}
	return silent, clean
}

// isWall reports whether the answer surely came from a bot wall instead of the
// site: a challenge, a captcha or a block.
func isWall(r refusal.Refusal) bool {
	return r.Sure && (r.Kind == refusal.Challenge || r.Kind == refusal.Captcha || r.Kind == refusal.Block)
}

// recall prepares g's host for what the Limiter will learn from g, whose lease
// has expired. If the Limiter has forgotten the host meanwhile, g gets the host
// that now has the same key, or a new host.
func (l *Limiter) recall(g *Grant, now time.Duration) {
	if g.host.gone {
		g.host = l.find(g.key, now)
	}
}

// backOff pauses g's host. The first refusal begins an incident. A later
// refusal belongs to the same incident if its request started before the first
// refusal arrived. An incident counts only once, however many requests were in
// flight. But the Retry-After of each refusal can make the pause longer: wait
// is that time, or 0.
func (l *Limiter) backOff(g *Grant, o Outcome, s sign, wait, now time.Duration) *Event {
	k := g.host.learn()
	var own time.Duration
	switch fresh := g.since > k.incident; {
	case fresh && s == doubtful && k.latest < doubtful:
		own = l.intervalMore(g, now)
		k.latest, k.incident = doubtful, now
	case fresh, s == plain && k.latest == doubtful: // a 429 confirms a doubtful refusal
		k.level = max(k.level, k.level+1) // it stays at 255
		own = l.exponential(k.level)
		k.latest, k.incident = plain, now
	}
	if wait == 0 {
		wait = own
	}
	return l.pause(g, o, wait, now)
}

// pause pauses g's host: no request to it starts before now + wait. It returns
// nil if wait is 0, or if the host is already paused for at least as long.
func (l *Limiter) pause(g *Grant, o Outcome, wait, now time.Duration) *Event {
	k := g.host.learn()
	until := later(now, wait)
	if until <= now || until <= k.until {
		return nil
	}
	k.until = until
	l.notePause(g.host)
	e := g.event(now)
	e.Status, e.Wait = o.Status, wait
	return &e
}

// heed applies the quotas that o's header tells. The event is nil unless the
// quotas began or prolonged a pause. slower reports whether a quota set a new
// interval for the host.
func (l *Limiter) heed(g *Grant, o Outcome, a headers.Asked, now time.Duration) (event *Event, slower bool) {
	h := g.host
	others := int64(h.inFlight)
	if g.state == flying {
		others--
	}
	q := a.Quota(others)
	if q.Pause > 0 {
		if event = l.pause(g, o, q.Pause, now); event != nil {
			h.learnt.limited = h.learnt.until
		}
	}
	if q.Spread == 0 {
		return event, false
	}
	k, until := h.learn(), later(now, q.Until)
	if k.spreadUntil > now && h.quotaDue() >= min(later(h.last, q.Spread), until) {
		return event, false // an earlier quota is in force, and is at least as strict
	}
	k.spread, k.spreadUntil = q.Spread, until
	l.notePause(h)
	return event, true
}

// intervalMore returns the pause that delays the next request by one interval.
// The pause ends one interval after the time at which that request could
// otherwise start. It is 0 if back-off is off.
func (l *Limiter) intervalMore(g *Grant, now time.Duration) time.Duration {
	if l.set.backOff == 0 {
		return 0
	}
	h := g.host
	interval := h.lengthen(max(l.pace(h), l.crawlDelay(h, g)))
	next := max(now, l.due(h, g))
	if l.EndToStart { // the interval counts from the end of g, which is now
		next = later(now, interval)
	}
	return later(next, interval) - now
}

// exponential returns the pause after the n-th incident in a row. A random part
// of up to a tenth is added, so that crawlers that were refused together do not
// come back together. With this part too, the pause is at most MaxBackOff.
func (l *Limiter) exponential(n uint8) time.Duration {
	wait := l.set.backOff
	for ; n > 1 && wait < l.set.maxBackOff; n-- {
		wait = later(wait, wait)
	}
	wait = min(wait, l.set.maxBackOff)
	return min(later(wait, time.Duration(float64(wait)/10*rand.Float64())), l.set.maxBackOff)
}

// recovered undoes one step of escalation after a good answer. The answer does
// not count if its request started before the latest incident.
func (g *Grant) recovered() {
	k := g.host.learnt
	if k == nil || g.since <= k.incident {
		return
	}
	k.latest = good
	if k.level > 0 {
		k.level--
	}
}
