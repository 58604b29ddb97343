package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// This file contains the host of a request, and the settings of PerHost for it.
// perhost.go contains what these settings mean.

// obtainHost returns the host of g, and makes it if there is none. A host may
// have been evicted since readSettings, so a new host gets the settings of g.
func (l *Limiter) obtainHost(g *Grant, now schedule.Time) *schedule.Host {
	if h := l.hosts.Get(g.key); h != nil {
		return h
	}
	h := l.hosts.Obtain(now, g.key, l.expireLeases)
	if g.settings != nil {
		l.configure(h, g.settings, now)
	}
	return h
}

// findHost finds the host of g for what the Limiter will learn from g, whose
// lease has expired. If the host has been evicted meanwhile, g gets the host
// that now has the same key, or a new host.
func (l *Limiter) findHost(g *Grant, now schedule.Time) {
	if g.host.IsEvicted() {
		g.host = l.obtainHost(g, now)
	}
}

// readSettings calls the PerHost of the Limiter of g, and puts the settings
// that it returns in force. If the Limiter does not know the host, obtainHost
// puts them in force when it makes the host. acquire calls readSettings for
// each stage before g joins any queue, readLaterSettings before g joins the
// queue of a later stage, and Next calls it too. It must be called without a
// lock.
func (g *Grant) readSettings() {
	l := g.limiter
	if l.PerHost == nil {
		return
	}
	settings := l.perHost.merge(l.PerHost(g.key))
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts.Get(g.key); h != nil {
		l.configure(h, &settings, l.now())
		g.settings = h.Settings // no allocation
		return
	}
	g.settings = new(schedule.Settings)
	*g.settings = settings
}

// readLaterSettings calls readSettings for each Limiter of the chain but the
// first, unless that stage is queued already. g may have waited for a long time
// before it joins these queues. While g is in a queue, it must not call PerHost
// again: if PerHost returned another value each time, the requests would wake
// each other without end.
func (g *Grant) readLaterSettings() {
	for stage := g.next; stage != nil; stage = stage.next {
		if stage.limiter.PerHost != nil && !stage.isQueued() {
			stage.readSettings()
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
	if g.settings == nil {
		return 0
	}
	return max(g.settings.Delay, g.settings.CrawlDelay)
}

// configure puts settings in force that PerHost has returned for h. They apply
// to all requests to h, including those that wait.
func (l *Limiter) configure(h *schedule.Host, s *schedule.Settings, now schedule.Time) {
	if l.perHost.assign(h, s) {
		l.retime(h, now)
		l.checkIdle(h, now) // retime may have rejected all waiting requests
	}
}
