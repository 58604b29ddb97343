package politeness

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness/refusal"
)

// learnFrom lets g's host react to the outcome of a request, which says s, and
// something of a quota if limited. The event is nil unless that began or
// prolonged a pause.
func (l *Limiter) learnFrom(g *Grant, o Outcome, s sign, limited bool) (event *Event) {
	if o.Status == 0 && o.Latency == 0 && o.Err == nil {
		return nil
	}
	if g.state == expired {
		l.recall(g, l.now())
	}
	switch {
	case s >= doubtful:
		event = l.backOff(g, o, s, l.now())
	case s == good:
		g.recovered()
		if o.Status/100 == 3 {
			if wait, ok := l.retryAfter(o); ok {
				event = l.pause(g, o, wait, l.now())
			}
		}
	}
	slower := l.Adaptive.Factor > 0 && l.adapt(g, o)
	if limited && !l.obeysRetryAfter(o, s) {
		spent, spread := l.heed(g, o, l.now())
		if spent != nil {
			event = spent // it is the longer pause
		}
		slower = slower || spread
	}
	if slower || event != nil {
		l.retime(g.host, l.now())
	}
	return event
}

// signOf returns what an outcome says. It needs no lock.
func signOf(o Outcome) sign {
	switch {
	case o.Status == http.StatusTooManyRequests:
		return plain
	case o.Status == http.StatusServiceUnavailable, len(o.Header) > 0 && isWall(o):
		return doubtful
	case o.Err == nil && o.Status > 0 && o.Status < 500:
		return good
	}
	return silent
}

// isWall reports whether a wall has certainly answered in the site's place, to
// keep us out or to test us.
func isWall(o Outcome) bool {
	r, ok := refusal.Of(&http.Response{StatusCode: o.Status, Header: o.Header})
	return ok && r.Sure && (r.Kind == refusal.Challenge || r.Kind == refusal.Captcha || r.Kind == refusal.Block)
}

// recall makes sure that what is learnt late, from a request whose lease is
// over, is not lost on a host that was forgotten or is filed by its old time.
func (l *Limiter) recall(g *Grant, now time.Duration) {
	if g.host.gone {
		if h, _ := l.find(g.key, now); h != nil {
			g.host = h
		}
	}
	if g.host.rest != 0 {
		l.resting.remove(g.host)
		l.idle.push(g.host)
	}
}

// backOff pauses g's host. An incident is all the refusals of requests that
// had started when the first of them was heard: it escalates once, however many
// were in flight. Each may still ask for a longer pause by Retry-After.
func (l *Limiter) backOff(g *Grant, o Outcome, s sign, now time.Duration) *Event {
	k := g.host.learn()
	wait, asked := l.retryAfter(o)
	var own time.Duration
	switch fresh := g.since > k.incident; {
	case fresh && s == doubtful && k.latest < doubtful:
		own = l.intervalMore(g, now)
		k.latest, k.incident = doubtful, now
	case fresh, s == plain && k.latest == doubtful: // the latter shows what the doubtful one was
		k.level = max(k.level, k.level+1)
		own = l.exponential(k.level)
		k.latest, k.incident = plain, now
	}
	if !asked {
		wait = own
	}
	return l.pause(g, o, wait, now)
}

// pause lets nothing start at g's host for so long. The event is nil if it is
// paused for longer already.
func (l *Limiter) pause(g *Grant, o Outcome, wait, now time.Duration) *Event {
	k := g.host.learn()
	until := later(now, wait)
	if until <= now || until <= k.until {
		return nil
	}
	k.until = until
	l.backed[g.host] = struct{}{}
	e := g.event(now)
	e.Status, e.Wait = o.Status, wait
	return &e
}

// retryAfter is how long the host asks to be left alone, cut to MaxRetryAfter.
func (l *Limiter) retryAfter(o Outcome) (time.Duration, bool) {
	wait, ok := RetryAfter(o.Header, time.Now())
	return min(wait, l.set.maxRetryAfter), ok
}

// heed notes what a response says of its host's quota. The event is nil unless
// that begins or prolongs a pause.
func (l *Limiter) heed(g *Grant, o Outcome, now time.Duration) (event *Event, slower bool) {
	h := g.host
	others := int64(h.inFlight)
	if g.state == flying {
		others--
	}
	q := quotaOf(o.Header, others, time.Now(), l.set.maxRetryAfter)
	if q.pause > 0 {
		if event = l.pause(g, o, q.pause, now); event != nil {
			h.learnt.limited = h.learnt.until
		}
	}
	if q.spread == 0 {
		return event, false
	}
	k, until := h.learn(), later(now, q.until)
	if k.spreadUntil > now && h.quotaDue() >= min(later(h.last, q.spread), until) {
		return event, false // what it said before is stricter, and still holds
	}
	k.spread, k.spreadUntil = q.spread, until
	return event, true
}

// obeysRetryAfter reports whether a Retry-After with an outcome that says s
// decides how long the host is left alone.
func (l *Limiter) obeysRetryAfter(o Outcome, s sign) bool {
	if s < doubtful && o.Status/100 != 3 {
		return false
	}
	_, ok := l.retryAfter(o)
	return ok
}

// intervalMore is how long it is until an interval after the next request could
// start.
func (l *Limiter) intervalMore(g *Grant, now time.Duration) time.Duration {
	if l.set.backOff == 0 {
		return 0
	}
	h := g.host
	interval := h.lengthen(max(l.pace(h), l.crawlDelay(h, g)))
	next := max(now, l.due(h, g))
	if l.EndToStart { // it ends now
		next = later(now, interval)
	}
	return later(next, interval) - now
}

// exponential is the pause of the n-th incident in a row, up to a tenth longer
// at random, so that those who were refused together do not come back together.
func (l *Limiter) exponential(n uint8) time.Duration {
	wait := l.set.backOff
	for ; n > 1 && wait < l.set.maxBackOff; n-- {
		wait = later(wait, wait)
	}
	wait = min(wait, l.set.maxBackOff)
	return min(later(wait, time.Duration(float64(wait)/10*rand.Float64())), l.set.maxBackOff)
}

// recovered takes one step back from escalation. A request that had started
// before the pause proves nothing.
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
