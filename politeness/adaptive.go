package politeness

import "time"

// maxAdaptive is the longest adaptive delay.
const maxAdaptive = time.Minute

// adapt sets the adaptive delay of g's host from o.Latency, and reports whether
// the delay rose. The aim is a delay of Limiter.Adaptive times the latest
// response time. A delay below the aim rises to it at once. A delay above the
// aim falls by half of the difference, as in Scrapy's AutoThrottle. Only a 2xx
// answer lets the delay fall, because many servers send errors faster than
// pages. Call adapt only if Adaptive is on.
func (l *Limiter) adapt(g *Grant, o Outcome) (slower bool) {
	if o.Latency <= 0 {
		return false
	}
	k := g.host.learn()
	was, aim := k.adaptive, maxAdaptive
	if product := l.Adaptive * float64(o.Latency); product < float64(maxAdaptive) {
		aim = time.Duration(product)
	}
	switch {
	case aim >= was:
		k.adaptive = aim
	case o.Err == nil && o.Status/100 == 2:
		k.adaptive = aim + (was-aim)/2
	}
	return k.adaptive > was
}
