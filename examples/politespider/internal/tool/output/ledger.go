// Package output says what a crawl does, while it does it: a line for each
// thing that happens and a summary, for a person or as JSON, and an HTML
// report.
//
// A [Ledger] adds up what it is told and hands it on to a printer. There are
// three: JSON lines, text, and text with a line of progress for a terminal.
package output

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/internal/terminal"
	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// Options says what a crawl is and how to show it.
type Options struct {
	What      string // is crawled, in a few words
	UserAgent string
	Interval  time.Duration // every host is owed it between two pages
	JSON      bool          // a JSON object a line instead of text
	Report    string        // the HTML file that WriteReport writes; "": none
	Failed    func(error)   // called once, when the output cannot be written
}

// Ledger collects what happens in a crawl and hands it to the printer, one at
// a time. It is safe for concurrent use.
type Ledger struct {
	opts   Options
	start  time.Time
	out    *checkedWriter
	print  printer
	report *report.Crawl // nil: none is wanted

	mu    sync.Mutex
	total record.Summary
	hosts map[string]*host
}

// New returns the ledger of a crawl that begins now and prints to w.
func New(w io.Writer, opts Options) *Ledger {
	l := &Ledger{
		opts:  opts,
		start: time.Now(),
		out:   &checkedWriter{w: w, failed: opts.Failed},
		hosts: make(map[string]*host),
	}
	l.print = newPrinter(l.out, terminal.Is(w), opts.JSON)
	if opts.Report != "" {
		l.report = report.New(opts.What, opts.UserAgent, l.start, opts.Interval)
	}
	return l
}

// Begin prints what comes first.
func (l *Ledger) Begin() { l.print.begin(l.opts.What, l.opts.UserAgent) }

// Offset returns a moment in seconds since the crawl began.
func (l *Ledger) Offset(at time.Time) float64 { return record.Seconds(at.Sub(l.start)) }

// Sent notes the start of a request: of a page, or for robots.txt.
func (l *Ledger) Sent(host string, isPage bool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	h.Requests++
	if !isPage {
		return
	}
	if gap := record.Seconds(at.Sub(h.last)); !h.last.IsZero() && (h.Closest == 0 || gap < h.Closest) {
		h.Closest = gap
	}
	h.last = at
}

// Paused notes that a host is left alone from now on because of its answer.
func (l *Ledger) Paused(host string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, from := l.host(host), time.Now()
	if h.paused.After(from) {
		from = h.paused
	}
	if until.After(from) {
		h.Paused += record.Seconds(until.Sub(from))
		h.paused = until
	}
}

// Add notes and prints what happened.
func (l *Ledger) Add(r record.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Seconds = record.Since(l.start)
	h := l.host(r.Host)
	l.total.Add(r.Verdict)
	switch r.Verdict {
	case record.Fetched:
		h.Fetched++
	case record.Moved:
		h.Moved++
	case record.NotFound:
		h.NotFound++
	case record.Blocked:
		h.Blocked++
	case record.RobotsTxt:
		h.answered(r)
	}
	if r.Verdict.Lost() {
		h.Lost++
		l.total.Lost = append(l.total.Lost, r.Brief())
	}
	if r.Status != 0 && r.Verdict != record.RobotsTxt {
		if l.total.Statuses == nil {
			l.total.Statuses = make(map[int]int)
		}
		l.total.Statuses[r.Status]++
	}
	if d := r.Decision; d != nil {
		h.decided = true
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
func (l *Ledger) heard(u record.Use) {
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

// ShowProgress keeps a terminal up to date on how the crawl stands until stop
// is called. Elsewhere it does nothing.
func (l *Ledger) ShowProgress(state func() frontier.State) (stop func()) {
	p, ok := l.print.(liveness)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(progressPeriod)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				l.progress(p, state())
			}
		}
	})
	return func() {
		cancel()
		shown.Wait()
	}
}

func (l *Ledger) progress(p liveness, q frontier.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	soFar := l.total
	soFar.Seconds = record.Since(l.start)
	p.progress(soFar, q)
}

// Finish prints and returns the summary.
func (l *Ledger) Finish(stopped string, state frontier.State) record.Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.total
	s.Seconds = record.Since(l.start)
	s.Stopped, s.Left = stopped, state.Queued
	s.Elsewhere = max(state.Spent-s.Fetched-s.Moved-s.NotFound-s.Refused-s.GivenUp-s.Failed, 0)
	for _, h := range l.hosts {
		s.Hosts = append(s.Hosts, h.summary())
	}
	slices.SortFunc(s.Hosts, func(a, b record.HostSummary) int { return cmp.Compare(a.Host, b.Host) })
	l.print.summary(s)
	return s
}

// Err returns the first error of writing the output. Call it after Finish.
func (l *Ledger) Err() error { return l.out.err }

func (l *Ledger) host(name string) *host {
	h := l.hosts[name]
	if h == nil {
		h = &host{HostSummary: record.HostSummary{Host: name, Interval: l.opts.Interval.Seconds()}}
		l.hosts[name] = h
	}
	return h
}
