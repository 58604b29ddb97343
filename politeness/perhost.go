package politeness

import (
	"math"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// This file contains what the results of PerHost mean. host.go contains when
// PerHost is called, and puts the results in force.

// HostSettings are what [Limiter.PerHost] returns for one host. They replace
// fields of the Limiter for that host. Every value is valid, and the zero value
// changes nothing.
//
// To check the settings of a host without a request, call [Limiter.Acquire],
// [Grant.Done] and [Limiter.Next]. The result of Next is then one interval
// away, as in the example Limiter (PerHost).
type HostSettings struct {
	// Delay is the least time between the starts of two requests to the host.
	// 0 means Limiter.Delay. Negative means none. A longer Crawl-delay still
	// applies, unless CrawlDelay replaces it.
	Delay time.Duration

	// Concurrency is how many requests to the host may be in flight. It is
	// always 1 while a Crawl-delay is in force. 0 means Limiter.Concurrency.
	// Negative means no limit, and so does more than math.MaxInt32.
	Concurrency int

	// CrawlDelay is the Crawl-delay of the host, whatever its robots.txt
	// declares. It is meant for hosts whose owner has agreed to it. If it is
	// positive, it is in force instead of the declared one, or although none is
	// declared. MaxCrawlDelay does not apply to it: requests wait, however long
	// it is. Because Delay applies too, a host gets a shorter interval than
	// Limiter.Delay only if the Delay above is set as well. 0 means the
	// Crawl-delay of robots.txt. Negative means none.
	//
	// The Limiter Within does not receive the Crawl-delays of robots.txt. In
	// its PerHost, a positive CrawlDelay is an interval that fetches of
	// robots.txt keep too, as they keep Delay, and only one request at a time
	// may be in flight.
	CrawlDelay time.Duration
}

// A settingsTable has the settings that PerHost has returned. All hosts with
// the same settings share them, so that they take no memory for each host.
type settingsTable struct {
	own    *schedule.Settings // the Limiter's
	shared map[HostSettings]*sharedSettings
}

// sharedSettings are settings that differ from the Limiter's own.
type sharedSettings struct {
	schedule.Settings
	hosts int // how many hosts have these settings
}

// merge returns the Limiter's settings with what PerHost has returned.
func (t *settingsTable) merge(s HostSettings) schedule.Settings {
	settings := *t.own
	settings.Delay = orDefault(s.Delay, settings.Delay, 0)
	settings.Concurrency = concurrency(s.Concurrency, settings.Concurrency)
	settings.CrawlDelay = max(s.CrawlDelay, -1)
	if s.CrawlDelay > 0 {
		settings.MaxCrawlDelay = schedule.Unlimited
	}
	return settings
}

// assign gives h these settings, and reports whether they differ from those
// before.
func (t *settingsTable) assign(h *schedule.Host, settings *schedule.Settings) (changed bool) {
	key := settingsKey(settings)
	if key == settingsKey(h.Settings) {
		return false
	}
	t.release(h)
	if key == settingsKey(t.own) {
		h.Settings = t.own
		return true
	}
	if t.shared == nil {
		t.shared = make(map[HostSettings]*sharedSettings)
	}
	shared := t.shared[key]
	if shared == nil {
		shared = &sharedSettings{Settings: *settings}
		t.shared[key] = shared
	}
	shared.hosts++
	h.Settings = &shared.Settings
	return true
}

// release must be called before h gets other settings or is evicted. It removes
// the settings of h if no other host has them. Otherwise, a PerHost that always
// returns new settings would fill the memory.
func (t *settingsTable) release(h *schedule.Host) {
	if h.Settings == t.own {
		return
	}
	key := settingsKey(h.Settings)
	shared := t.shared[key]
	shared.hosts--
	if shared.hosts == 0 {
		delete(t.shared, key)
	}
}

// settingsKey returns those settings that PerHost can change. Unlike in a
// result of PerHost, 0 does not stand for a default.
func settingsKey(s *schedule.Settings) HostSettings {
	return HostSettings{Delay: s.Delay, Concurrency: int(s.Concurrency), CrawlDelay: s.CrawlDelay}
}

// concurrency returns how many requests may be in flight with a field
// Concurrency of n. The argument zero is what 0 means.
func concurrency(n int, zero int32) int32 {
	return int32(min(orDefault(n, int(zero), math.MaxInt32), math.MaxInt32))
}
