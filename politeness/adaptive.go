package politeness

import (
	"fmt"
	"time"
)

// Adaptive lets a host's response times set its pace. The aim is a delay of
// Factor times the latest response time. A delay below the aim rises to it at
// once. A delay above the aim falls by half of the difference, as in Scrapy's
// AutoThrottle. Only a 2xx answer lets the delay fall, because many servers
// send errors faster than pages. Heritrix uses a Factor of 5.
type Adaptive struct {
	Factor float64       // 0 means off
	Min    time.Duration // the adaptive delay is at least this. 0 or negative means no minimum
	Max    time.Duration // the adaptive delay is at most this. 0 means 60 s. Negative means no maximum
}

func (a Adaptive) check() error {
	switch {
	case !(a.Factor >= 0 && a.Factor <= 1e6):
		return fmt.Errorf("politeness: Limiter.Adaptive.Factor is %v: give how many response times a host should rest, such as 5, or 0 for off", a.Factor)
	case a.Min > a.ceiling():
		return fmt.Errorf("politeness: Limiter.Adaptive.Min %v is longer than Max %v: swap them", a.Min, a.ceiling())
	}
	return nil
}

func (a Adaptive) ceiling() time.Duration { return orDefault(a.Max, time.Minute, forever) }

// next returns a host's new delay, computed from the old one and from the
// latency of an answer. ok says whether the answer may lower the delay.
func (a Adaptive) next(delay, latency time.Duration, ok bool) time.Duration {
	want := a.ceiling()
	if product := a.Factor * float64(latency); product < float64(want) {
		want = max(time.Duration(product), a.Min)
	}
	switch {
	case want >= delay:
		return want
	case ok:
		return want + (delay-want)/2
	}
	return delay
}

// adapt sets the adaptive delay of g's host from o.Latency, and reports whether
// the delay rose. Call adapt only if Adaptive is on.
func (l *Limiter) adapt(g *Grant, o Outcome) (slower bool) {
	if o.Latency <= 0 {
		return false
	}
	was := g.host.learn().adaptive
	ok := o.Err == nil && o.Status/100 == 2
	g.host.learnt.adaptive = l.Adaptive.next(was, o.Latency, ok)
	return g.host.learnt.adaptive > was
}
