package main

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// ledger collects what happens in a crawl and hands it to the printer, one at a time. It is safe for concurrent use.
type ledger struct {
	start    time.Time
	interval float64 // seconds that every host is owed
	print    printer
	report   *report.Crawl // nil: none is wanted

	mu    sync.Mutex
	total record.Summary
	hosts map[string]*record.HostSummary
	last  map[string]time.Time // start of a host's latest page
}

func newLedger(p printer, interval time.Duration) *ledger {
	return &ledger{start: time.Now(), interval: interval.Seconds(), print: p, hosts: make(map[string]*record.HostSummary), last: make(map[string]time.Time)}
}

// sent notes the start of a request: of a page, or for robots.txt.
func (l *ledger) sent(host string, isPage bool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	h.Requests++
	if !isPage {
		return
	}
	if gap := at.Sub(l.last[host]).Round(time.Millisecond).Seconds(); !l.last[host].IsZero() && (h.Closest == 0 || gap < h.Closest) {
		h.Closest = gap
	}
	l.last[host] = at
}

// add notes and prints what happened.
func (l *ledger) add(r record.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Seconds = since(l.start)
	h := l.host(r.Host)
	switch r.Verdict {
	case record.Fetched:
		l.total.Fetched++
		h.Fetched++
	case record.Moved:
		l.total.Moved++
		h.Fetched++
	case record.Blocked:
		l.total.Blocked++
		h.Blocked++
	case record.Unreachable:
		l.total.Unreachable++
	case record.Missing:
		l.total.Missing++
	case record.Failed:
		l.total.Failed++
	case record.RobotsTxt:
		h.RobotsTxt = robotsSummary(r)
	}
	switch r.Verdict {
	case record.Unreachable, record.Missing, record.Failed:
		h.Lost++
		l.total.Lost = append(l.total.Lost, r.Brief())
	}
	if d := r.Decision; d != nil {
		h.Interval = max(h.Interval, d.CrawlDelay.Seconds())
	}
	if r.NoIndex {
		l.total.NoIndex++
		l.total.NotToKeep = append(l.total.NotToKeep, r.Brief())
	}
	if r.NoFollow {
		l.total.NoFollow++
	}
	for _, u := range r.Uses {
		l.heard(u)
	}
	l.print.record(r)
	if l.report != nil {
		l.report.Add(r)
	}
}

// heard counts what was said about a use.
func (l *ledger) heard(u record.Use) {
	for _, statement := range u.Evidence {
		if statement.Draft != "" {
			if l.total.Drafts == nil {
				l.total.Drafts = make(map[preference.Signal]string)
			}
			l.total.Drafts[statement.Signal] = statement.Draft
		}
	}
	if u.Answer == preference.Unknown {
		return
	}
	i := slices.IndexFunc(l.total.Uses, func(s record.UseSummary) bool { return s.Use == u.Use })
	if i < 0 {
		i = len(l.total.Uses)
		l.total.Uses = append(l.total.Uses, record.UseSummary{Use: u.Use})
	}
	if u.Answer == preference.Allow {
		l.total.Uses[i].Allow++
	} else {
		l.total.Uses[i].Deny++
	}
}

// progress shows how the crawl stands, if the printer does that.
func (l *ledger) progress(q frontier.State) {
	if p, ok := l.print.(liveness); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		soFar := l.total
		soFar.Seconds = since(l.start)
		p.progress(soFar, q)
	}
}

// finish prints and returns the summary.
func (l *ledger) finish(stopped string, state frontier.State) record.Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.total
	s.Seconds = since(l.start)
	s.Stopped, s.Left = stopped, state.Queued
	s.Elsewhere = max(state.Spent-s.Fetched-s.Moved-s.Missing-s.Failed, 0)
	for _, h := range l.hosts {
		s.Hosts = append(s.Hosts, *h)
	}
	slices.SortFunc(s.Hosts, func(a, b record.HostSummary) int { return cmp.Compare(a.Host, b.Host) })
	l.print.summary(s)
	return s
}

// offset is a moment in seconds since the crawl began.
func (l *ledger) offset(at time.Time) float64 { return inSeconds(at.Sub(l.start)) }

// since is the time from then to now in seconds.
func since(then time.Time) float64 { return inSeconds(time.Since(then)) }

// inSeconds is exact to the millisecond.
func inSeconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func (l *ledger) host(name string) *record.HostSummary {
	h := l.hosts[name]
	if h == nil {
		h = &record.HostSummary{Host: name, Interval: l.interval}
		l.hosts[name] = h
	}
	return h
}
