// Package output shows what a crawl does while it runs: a line for each event,
// then a summary, as text or as JSON. It also writes the HTML report.
//
// A [Ledger] adds up the records of the crawl (package record) and passes them
// to a printer. There are three printers: JSON lines, text, and text with a
// progress line for a terminal.
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

// Options describe the crawl and how to show it.
type Options struct {
	What      string // what is crawled, in a few words
	UserAgent string
	Interval  time.Duration   // least time between two pages of a host
	JSON      bool            // print JSON lines instead of text
	Report    string          // the HTML file that WriteReport writes; "" means none
	Before    *record.Summary // an earlier crawl to compare with; nil if there is none
	History   History         // stores the records of this run and of earlier runs; nil if none are stored
	Failed    func(error)     // called at the first error in writing the output
}

// A History stores the records of all runs of a crawl, this run included.
type History interface {
	Past(add func(began time.Time, r record.Record, rule *record.Rule)) error
	Begin(at time.Time)
	Add(r record.Record)
}

// A Ledger collects what happens in a crawl and passes it to the printer, one
// record at a time. It is safe for concurrent use.
type Ledger struct {
	opts   Options
	start  time.Time
	out    *checkedWriter
	print  printer
	report *report.Crawl // nil if there is no report, or if whole.report is used instead
	whole  *Ledger       // adds up all runs for the report; nil if the report needs no earlier run

	mu       sync.Mutex
	total    record.Summary
	ofReport record.Summary // the summary that the report shows, set by Finish
	hosts    map[string]*host
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
		l.report = l.newReport(l.start)
	}
	return l
}

func (l *Ledger) newReport(began time.Time) *report.Crawl {
	c := report.New(l.opts.What, l.opts.UserAgent, began, l.opts.Interval)
	if l.opts.Before != nil {
		c.Compare(*l.opts.Before)
	}
	return c
}

// Recall adds the earlier runs of the crawl to the report, if a report is
// wanted. Then it notes in the History that this run begins. It does nothing
// without a History. Call Recall before any other method.
func (l *Ledger) Recall() error {
	if l.opts.History == nil {
		return nil
	}
	if l.report != nil {
		whole := New(io.Discard, Options{What: l.opts.What, UserAgent: l.opts.UserAgent, Interval: l.opts.Interval})
		whole.report, whole.start = l.report, l.start
		err := l.opts.History.Past(func(began time.Time, r record.Record, rule *record.Rule) {
			if l.whole == nil { // this is the first record of the crawl
				l.whole, whole.start = whole, began
				whole.report = l.newReport(began)
			}
			whole.addPast(r, rule, began)
		})
		if err != nil {
			return err
		}
		if l.whole != nil {
			l.report = nil
		}
	}
	l.opts.History.Begin(l.start)
	return nil
}

// addPast adds a record of an earlier run that began at the given time.
func (l *Ledger) addPast(r record.Record, rule *record.Rule, began time.Time) {
	for _, request := range r.Requests {
		l.Sent(cmp.Or(request.Host, r.Host), r.Verdict != record.RobotsTxt, began.Add(duration(request.At)))
	}
	if r.PausedUntil > 0 && len(r.Requests) > 0 {
		last := r.Requests[len(r.Requests)-1]
		l.paused(r.Host, began.Add(duration(last.At+last.Took)), began.Add(duration(r.PausedUntil)))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(later(r, began.Sub(l.start)), rule)
}

// later() returns a copy of a record with later times. In the record, times
// count from the start of its run. In the copy, they count from the start of
// the crawl. The second argument is the time from the start of the crawl to the
// start of the run.
func later(r record.Record, by time.Duration) record.Record {
	move := func(seconds *float64) { *seconds = record.Seconds(duration(*seconds) + by) }
	move(&r.Seconds)
	if r.PausedUntil > 0 {
		move(&r.PausedUntil)
	}
	r.Requests = slices.Clone(r.Requests)
	for i := range r.Requests {
		move(&r.Requests[i].At)
	}
	return r
}

// Begin prints the heading.
func (l *Ledger) Begin() { l.print.begin(l.opts.What, l.opts.UserAgent) }

// Offset returns how many seconds after the start of the run the given time is.
func (l *Ledger) Offset(at time.Time) float64 { return record.Seconds(at.Sub(l.start)) }

// Sent counts a request for a page or for robots.txt. The request starts at the
// given time.
func (l *Ledger) Sent(host string, isPage bool, at time.Time) {
	if l.whole != nil {
		l.whole.Sent(host, isPage, at)
	}
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

// Paused is called when an answer makes the crawl leave the host alone. The
// pause begins now and ends at the given time.
func (l *Ledger) Paused(host string, until time.Time) {
	l.paused(host, time.Now(), until)
	if l.whole != nil {
		l.whole.Paused(host, until)
	}
}

func (l *Ledger) paused(host string, from, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	if h.paused.After(from) {
		from = h.paused
	}
	if until.After(from) {
		h.Paused += record.Seconds(until.Sub(from))
		h.paused = until
	}
}

// Add prints a record and adds it to the summary, the report and the History.
func (l *Ledger) Add(r record.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Seconds = record.Since(l.start)
	l.print.record(r)
	l.add(r, record.RuleOf(r))
	if l.whole != nil {
		l.whole.mu.Lock()
		defer l.whole.mu.Unlock()
		l.whole.add(later(r, l.start.Sub(l.whole.start)), record.RuleOf(r))
	}
	if l.opts.History != nil {
		l.opts.History.Add(r)
	}
}

// add() adds a record to the summary and the report. The caller holds l.mu.
func (l *Ledger) add(r record.Record, rule *record.Rule) {
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
	if r.Status != 0 && r.Verdict != record.RobotsTxt && r.Verdict != record.Checked {
		if l.total.Statuses == nil {
			l.total.Statuses = make(map[int]int)
		}
		l.total.Statuses[r.Status]++
	}
	if d := r.Decision; d != nil {
		// The ports of a host may have different Crawl-delays. The shortest
		// interval is kept here.
		if interval := max(l.opts.Interval, d.CrawlDelay).Seconds(); !h.decided || interval < h.Interval {
			h.Interval = interval
		}
		h.decided = true
	}
	if r.NoIndex {
		l.total.NoIndex++
		l.total.NotToKeep = append(l.total.NotToKeep, r.Brief())
	}
	if r.Verdict == record.Fetched && r.Refusal != nil {
		l.total.Doubtful = append(l.total.Doubtful, r.Brief())
	}
	if r.NoFollow {
		l.total.NoFollow++
	}
	for _, u := range r.Uses {
		l.heard(u)
	}
	if l.report != nil {
		l.report.AddPast(r, rule)
	}
}

func (l *Ledger) heard(u record.Use) {
	for _, statement := range u.Evidence {
		if statement.Draft != "" {
			if l.total.Drafts == nil {
				l.total.Drafts = make(map[string]string)
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

// ShowProgress updates a progress line on a terminal until stop is called. If
// the output is not a terminal, it does nothing.
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
	s := l.summary(stopped, state)
	l.print.summary(s)
	l.ofReport = s
	if l.whole != nil {
		l.ofReport = l.whole.summary(stopped, state)
	}
	return s
}

func (l *Ledger) summary(stopped string, state frontier.State) record.Summary {
	s := l.total
	s.Seconds = record.Since(l.start)
	s.Stopped, s.Left = stopped, state.Queued
	s.Elsewhere = max(state.Spent-s.Fetched-s.Unchanged-s.Moved-s.NotFound-s.Refused-s.GivenUp-s.Failed, 0)
	end := time.Now()
	for _, h := range l.hosts {
		s.Hosts = append(s.Hosts, h.summary(end))
	}
	slices.SortFunc(s.Hosts, func(a, b record.HostSummary) int { return cmp.Compare(a.Host, b.Host) })
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
