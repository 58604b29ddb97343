package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// readSettings calls the PerHost of the Limiter of g, and puts the settings
// that it returns in force. It must be called without a lock. If create is
// false, it changes nothing about a host that the Limiter does not know.
func (g *Grant) readSettings(create bool) {
	l := g.limiter
	if l.PerHost == nil {
		return
	}
	settings := l.PerHost(g.key)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.hosts[g.key]
	if h == nil && create {
		h = l.find(g.key, now)
	}
	if h != nil {
		l.configure(h, settings, now)
	}
}

// readLaterSettings calls readSettings for each Limiter after the first whose
// queue g is not in. g may have waited for a long time before it joins these
// queues. While g is in a queue, it must not call PerHost again: if PerHost
// returned another value each time, the requests would wake each other without
// end.
func (g *Grant) readLaterSettings() {
	for stage := g.next; stage != nil; stage = stage.next {
		if stage.limiter.PerHost != nil && !stage.isQueued() {
			stage.readSettings(true)
		}
	}
}

func (g *Grant) isQueued() bool {
	g.limiter.mu.Lock()
	defer g.limiter.mu.Unlock()
	return g.state == queued
}

// configuredInterval returns the interval that PerHost sets for g's host, or 0
// if it sets none.
func (g *Grant) configuredInterval() time.Duration {
	l := g.limiter
	if l.PerHost == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[g.key]
	if h == nil {
		return 0
	}
	return max(h.Settings.Delay, h.Settings.CrawlDelay)
}

// configure puts settings in force that PerHost has returned for h. They apply
// to all requests to h, including those that wait.
func (l *Limiter) configure(h *host, s HostSettings, now schedule.Time) {
	if l.perHost.configure(&h.Host, s) {
		l.retime(h, now)
	}
}
