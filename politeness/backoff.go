package politeness

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// learnFrom lets g's host react to the outcome of a request. The event is
// zero unless that began or prolonged a pause.
func (l *Limiter) learnFrom(g *Grant, o Outcome) (event Event) {
	if o.Status == 0 && o.Latency == 0 && o.Err == nil {
		return Event{}
	}
	if g.state == expired {
		l.recall(g, l.now())
	}
	switch {
	case o.Status == http.StatusTooManyRequests, o.Status == http.StatusServiceUnavailable:
		event = l.backOff(g, o, l.now())
	case o.Err == nil && o.Status > 0 && o.Status < 500:
		g.recovered()
	}
	slower := l.Adaptive.Factor > 0 && l.adapt(g, o)
	if slower || event.Status != 0 {
		l.retime(g.host, l.now())
	}
	return event
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
func (l *Limiter) backOff(g *Grant, o Outcome, now time.Duration) Event {
	k := g.host.learn()
	wait, asked := RetryAfter(o.Header, time.Now())
	fresh := g.since > k.incident
	if fresh {
		k.incident = now
		k.level++
		if k.level == 0 {
			k.level--
		}
	}
	switch {
	case asked:
		wait = min(wait, l.set.maxRetryAfter)
	case fresh:
		wait = l.exponential(k.level)
	}
	until := later(now, wait)
	if until <= now || until <= k.until {
		return Event{}
	}
	k.until = until
	l.backed[g.host] = struct{}{}
	return Event{Host: g.key, Status: o.Status, Wait: wait}
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
	if k := g.host.learnt; k != nil && k.level > 0 && g.since > k.incident {
		k.level--
	}
}
