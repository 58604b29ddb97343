package schedule

import "time"

// MaxAdaptive is the longest adaptive delay.
const MaxAdaptive = time.Minute

// adapt sets the adaptive delay from the latency of a request: the time until
// the header of its response or, without a response, until it failed. adapt
// reports whether the delay rose. The aim is Settings.Adaptive times the
// latency. A delay below the aim rises to it at once. A delay above the aim
// falls by half of the difference, as in Scrapy's AutoThrottle. Only a 2xx
// response lets the delay fall, because many servers send errors faster than
// pages.
func (h *Host) adapt(s Signals) (slower bool) {
	if h.Settings.Adaptive == 0 || s.Latency <= 0 {
		return false
	}
	k := h.Learn()
	was := k.Adaptive
	aim := MaxAdaptive
	if product := h.Settings.Adaptive * float64(s.Latency); product < float64(MaxAdaptive) {
		aim = time.Duration(product)
	}
	isSuccess := !s.Failed && s.Status/100 == 2
	switch {
	case aim >= was:
		k.Adaptive = aim
	case isSuccess:
		k.Adaptive = aim + (was-aim)/2
	}
	return k.Adaptive > was
}
