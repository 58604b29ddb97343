package politeness

import (
	"fmt"
	"time"
)

// Adaptive lets a host's response times set its pace: the delay follows Factor
// times the time that the host took to answer. It rises at once and falls
// by half of the difference with each further answer, as Scrapy's AutoThrottle
// does; a Factor of 5 is Heritrix's custom. Only an answer of 2xx lets it fall,
// because many servers are quickest at saying no.
type Adaptive struct {
	Factor float64       // 0: off
	Min    time.Duration // the floor; Delay and Crawl-delay are floors anyway. 0 or negative: no other
	Max    time.Duration // the ceiling. 0: 60 s. Negative: none
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

// next is the delay after an answer that took latency.
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

// adapt lets g's host change its pace. It is for a Limiter with Adaptive alone.
func (l *Limiter) adapt(g *Grant, o Outcome) (slower bool) {
	if o.Latency <= 0 {
		return false
	}
	was := g.host.learn().adaptive
	ok := o.Err == nil && o.Status/100 == 2
	g.host.learnt.adaptive = l.Adaptive.next(was, o.Latency, ok)
	return g.host.learnt.adaptive > was
}
