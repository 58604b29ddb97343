package main

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// Verdict is what became of a URL.
type Verdict string

const (
	Fetched     Verdict = "fetched"     // the server answered, whatever the status
	Moved       Verdict = "moved"       // it redirected; where to is a URL of its own
	Blocked     Verdict = "blocked"     // a rule of robots.txt says no; nothing was sent
	Unreachable Verdict = "unreachable" // robots.txt could not be had, so nothing is allowed
	Later       Verdict = "later"       // 429 or 503, or a long wait: back in the queue
	Missing     Verdict = "missing"     // 429 or 503 once too often: given up
	Failed      Verdict = "failed"      // no answer, or half of one
	RobotsTxt   Verdict = "robots.txt"  // not a page: an origin's robots.txt was asked for
)

// Record is one thing that happened in a crawl: a line of the output, or one of its JSON lines.
type Record struct {
	Seconds   float64 `json:"seconds"` // since the crawl began
	Verdict   Verdict `json:"verdict"`
	URL       string  `json:"url"`
	Host      string  `json:"host"`           // its unit of politeness
	From      string  `json:"from,omitempty"` // the page it was found on
	Status    int     `json:"status,omitempty"`
	Waited    float64 `json:"waited,omitempty"`     // seconds from its turn to its request, to spare the host
	Location  string  `json:"location,omitempty"`   // of Moved
	NoIndex   bool    `json:"noindex,omitempty"`    // by a robots meta or X-Robots-Tag
	NoFollow  bool    `json:"nofollow,omitempty"`   // likewise
	Links     int     `json:"links,omitempty"`      // on it, not seen before: queued
	LinksLeft int     `json:"links_left,omitempty"` // on it, not followed because it or they ask so
	Put       int     `json:"put,omitempty"`        // how often it has been put off, of Later and Missing
	Again     float64 `json:"again,omitempty"`      // seconds until its next turn, of Later
	Redirects int     `json:"redirects,omitempty"`  // followed, of RobotsTxt
	Error     string  `json:"error,omitempty"`

	Said // of what was fetched

	// Decision is what robots.txt says, with the rule and its line; nil if nothing was decided.
	Decision *robotsmw.Decision `json:"decision,omitempty"`
}

// brief is the record as the summary lists it: the evidence stands where it was first printed.
func (r Record) brief() Record {
	r.Decision, r.Said = nil, Said{}
	return r
}

// Summary is what a crawl came to.
type Summary struct {
	Seconds     float64       `json:"seconds"`
	Stopped     string        `json:"stopped,omitempty"` // why before its end: "interrupted", "max-pages"
	Fetched     int           `json:"fetched"`
	Moved       int           `json:"moved"`
	Blocked     int           `json:"blocked"`
	Unreachable int           `json:"unreachable"`
	Missing     int           `json:"missing"`
	Failed      int           `json:"failed"`
	Left        int           `json:"left"` // URLs still queued
	NoIndex     int           `json:"noindex"`
	NoFollow    int           `json:"nofollow"`
	Hosts       []HostSummary `json:"hosts"`          // by name
	Lost        []Record      `json:"lost"`           // what is Unreachable, Missing or Failed
	NotToKeep   []Record      `json:"not_to_keep"`    // fetched, and noindex
	Uses        []UseSummary  `json:"uses,omitempty"` // those that any page says something about

	// Drafts are the documents by which statements about use were read that may still change, by signal.
	Drafts map[preference.Signal]string `json:"drafts,omitempty"`
}

// UseSummary counts the pages by what they say about a use.
type UseSummary struct {
	Use   preference.Use `json:"use"`
	Allow int            `json:"allow"`
	Deny  int            `json:"deny"`
}

// HostSummary is the part of one host.
type HostSummary struct {
	Host      string  `json:"host"`
	Requests  int     `json:"requests"` // sent to it, robots.txt and second tries included
	Interval  float64 `json:"interval"` // seconds that it is owed between two pages
	Fetched   int     `json:"fetched"`
	Blocked   int     `json:"blocked"`
	Lost      int     `json:"lost"`
	Closest   float64 `json:"closest,omitempty"` // seconds between the starts of the two pages closest to each other
	RobotsTxt string  `json:"robots_txt"`        // how its robots.txt answered

	last time.Time // start of the latest page
}

// ledger collects what happens in a crawl and hands it to the printer, one at a time. It is safe for concurrent use.
type ledger struct {
	start    time.Time
	interval float64 // seconds that every host is owed
	print    printer

	mu    sync.Mutex
	total Summary
	hosts map[string]*HostSummary
}

func newLedger(p printer, interval time.Duration) *ledger {
	return &ledger{start: time.Now(), interval: interval.Seconds(), print: p, hosts: make(map[string]*HostSummary)}
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
	if gap := at.Sub(h.last).Round(time.Millisecond).Seconds(); !h.last.IsZero() && (h.Closest == 0 || gap < h.Closest) {
		h.Closest = gap
	}
	h.last = at
}

// add notes and prints what happened.
func (l *ledger) add(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Seconds = since(l.start)
	h := l.host(r.Host)
	switch r.Verdict {
	case Fetched:
		l.total.Fetched++
		h.Fetched++
	case Moved:
		l.total.Moved++
		h.Fetched++
	case Blocked:
		l.total.Blocked++
		h.Blocked++
	case Unreachable:
		l.total.Unreachable++
	case Missing:
		l.total.Missing++
	case Failed:
		l.total.Failed++
	case RobotsTxt:
		h.RobotsTxt = robotsSummary(r)
	}
	switch r.Verdict {
	case Unreachable, Missing, Failed:
		h.Lost++
		l.total.Lost = append(l.total.Lost, r.brief())
	}
	if d := r.Decision; d != nil {
		h.Interval = max(h.Interval, d.CrawlDelay.Seconds())
	}
	if r.NoIndex {
		l.total.NoIndex++
		l.total.NotToKeep = append(l.total.NotToKeep, r.brief())
	}
	if r.NoFollow {
		l.total.NoFollow++
	}
	for _, u := range r.Uses {
		l.heard(u)
	}
	l.print.record(r)
}

// heard counts what was said about a use.
func (l *ledger) heard(u Use) {
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
	i := slices.IndexFunc(l.total.Uses, func(s UseSummary) bool { return s.Use == u.Use })
	if i < 0 {
		i = len(l.total.Uses)
		l.total.Uses = append(l.total.Uses, UseSummary{Use: u.Use})
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
		p.progress(l.total.Fetched, q)
	}
}

// finish prints and returns the summary.
func (l *ledger) finish(stopped string, left int) Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.total
	s.Seconds = since(l.start)
	s.Stopped, s.Left = stopped, left
	for _, h := range l.hosts {
		s.Hosts = append(s.Hosts, *h)
	}
	slices.SortFunc(s.Hosts, func(a, b HostSummary) int { return cmp.Compare(a.Host, b.Host) })
	l.print.summary(s)
	return s
}

// since is the time from then to now in seconds, to the millisecond.
func since(then time.Time) float64 { return time.Since(then).Round(time.Millisecond).Seconds() }

func (l *ledger) host(name string) *HostSummary {
	h := l.hosts[name]
	if h == nil {
		h = &HostSummary{Host: name, Interval: l.interval}
		l.hosts[name] = h
	}
	return h
}
