package redislimit

import (
	"testing"

	"github.com/goodbots/courtesy/politeness"
)

// A Crawl-delay is handed over with the host, also a shorter one.
func TestCrawlDelay_HandedOver(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: shortDelay}), f.join(&politeness.Limiter{Delay: shortDelay})
		a.begin(politeness.WithCrawlDelay(f.Context(), 10*shortDelay), host).Done(ok200)
		b.request(host, ok200) // this request of b names no Crawl-delay
		f.checkIntervals(10 * shortDelay)
		b.begin(politeness.WithCrawlDelay(f.Context(), 0), host).Done(ok200)
		a.request(host, ok200) // member a received the longer Crawl-delay before
		if got := f.gap(2, 3); got > 8*shortDelay+f.stalled() {
			f.Errorf("the request after the shorter Crawl-delay starts %v after the previous one, want at most %v", got, 8*shortDelay+f.stalled())
		}
	})
}

// A request that is exempt from the Crawl-delay, such as that for robots.txt,
// starts before the Crawl-delay is over, whichever member makes it.
func TestCrawlDelay_Exempt(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a, b := f.join(&politeness.Limiter{Delay: shortDelay}), f.join(&politeness.Limiter{Delay: shortDelay})
		a.begin(politeness.WithCrawlDelay(f.Context(), 20*shortDelay), host).Done(ok200)
		b.begin(politeness.WithCrawlDelay(f.Context(), politeness.Exempt), host).Done(ok200)
		b.request(host, ok200)
		if got := f.gap(0, 1); got < shortDelay-f.tolerance() || got > 10*shortDelay+f.stalled() {
			f.Errorf("the request for robots.txt starts %v after the previous one, want %v to %v", got, shortDelay-f.tolerance(), 10*shortDelay+f.stalled())
		}
		if got := f.gap(0, 2); got < 20*shortDelay-f.tolerance() {
			f.Errorf("the next request starts %v after the previous one, want %v at least", got, 20*shortDelay-f.tolerance())
		}
	})
}
