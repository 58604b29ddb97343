// Package output shows what a crawl does while it runs: a line for each event,
// then a summary, as text or as JSON. It also writes the HTML report.
//
// A [Ledger] adds up the records of the crawl (package record) and passes them
// to a printer. There are three printers: JSON lines, text, and text with a
// progress line for a terminal.
package output

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// Options describe the crawl and how to show it.
type Options struct {
	What      string // what is crawled, in a few words
	UserAgent string
	Interval  time.Duration   // minimum time between two pages of a host
	JSON      bool            // print JSON lines instead of text
	Report    string          // the HTML file that WriteReport writes; "" means none
	Before    *record.Summary // an earlier crawl to compare with; nil if there is none
	History   *keep.History   // stores the records of this run and of earlier runs; nil if none are stored
	Failed    func(error)     // called at the first error in writing the output
}

// A Ledger collects the events of a crawl and passes them to the printer, one
// record at a time. If the crawl has a History, the summary and the report
// cover all its runs. A Ledger is safe for concurrent use.
type Ledger struct {
	opts       Options
	runStart   time.Time
	crawlStart time.Time // start of the first run
	out        *checkedWriter
	print      printer
	report     *report.Crawl // nil if there is no report

	mu      sync.Mutex
	total   record.Summary
	earlier float64 // how many seconds the earlier runs took
	added   int     // how many records this run has added
	hosts   map[string]*host
	files   map[string]bool // hashes of the robots.txt files whose lines this run has reported
}

// New returns the Ledger of a run that begins now and prints to w. It adds the
// records of earlier runs from the History, and records the start of this run
// there.
func New(w io.Writer, opts Options) (*Ledger, error) {
	now := time.Now()
	l := &Ledger{
		opts:       opts,
		runStart:   now,
		crawlStart: now, // addEarlierRuns replaces it if there were earlier runs
		out:        &checkedWriter{w: w, onError: opts.Failed},
		total:      record.Summary{Drafts: make(map[string]string)},
		hosts:      make(map[string]*host),
		files:      make(map[string]bool),
	}
	l.print = newPrinter(w, l.out, opts.JSON)
	if opts.Report != "" {
		l.report = report.New(opts.What, opts.UserAgent, now, opts.Interval)
		l.report.Before = opts.Before
	}
	if opts.History == nil {
		return l, nil
	}
	if err := l.addEarlierRuns(); err != nil {
		return nil, err
	}
	opts.History.Begin(now)
	return l, nil
}

// addEarlierRuns adds the records of earlier runs.
func (l *Ledger) addEarlierRuns() error {
	var run time.Time // when the run began that is being read
	var last float64  // seconds from then to the run's latest record
	err := l.opts.History.Past(func(start time.Time, r record.Record, rule *record.Rule) {
		if l.total.Runs == 0 {
			l.crawlStart = start
		}
		if start != run {
			l.total.Runs++
			l.earlier += last
		}
		run = start
		last = r.Seconds
		l.addEarlier(r, rule, start)
	})
	l.earlier += last
	if l.total.Runs > 0 {
		l.total.Runs++ // this run
	}
	return err
}

// addEarlier adds a record of an earlier run, which began at start. Only New
// calls it, before any other goroutine uses the Ledger.
func (l *Ledger) addEarlier(r record.Record, rule *record.Rule, start time.Time) {
	for _, request := range r.Requests {
		host := cmp.Or(request.Host, r.Host)
		l.Sent(host, r.Verdict != record.RobotsTxt, start.Add(record.Duration(request.At)))
	}
	if r.PausedUntil > 0 && len(r.Requests) > 0 {
		last := r.Requests[len(r.Requests)-1]
		from := start.Add(record.Duration(last.At + last.Took))
		until := start.Add(record.Duration(r.PausedUntil))
		l.Paused(r.Host, from, until)
	}
	l.add(r, rule, start)
}

// Begin prints the heading.
func (l *Ledger) Begin() { l.print.begin(l.opts.What, l.opts.UserAgent) }

// Offset returns how many seconds after the start of the run the given time is.
func (l *Ledger) Offset(at time.Time) float64 { return record.Seconds(at.Sub(l.runStart)) }

// Sent counts a request for a page or for robots.txt. The request starts at the
// given time.
func (l *Ledger) Sent(host string, isPage bool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host)
	h.Requests++
	if !isPage {
		return
	}
	if !h.last.IsZero() {
		gap := record.Seconds(at.Sub(h.last))
		if h.Closest == 0 || gap < h.Closest {
			h.Closest = gap
		}
	}
	h.last = at
}

// Paused adds a pause of a host, which a response caused.
func (l *Ledger) Paused(host string, from, until time.Time) {
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
	r.Seconds = record.Since(l.runStart)
	l.print.record(r)
	l.added++
	rule := r.DisallowedBy(l.files)
	l.add(r, rule, l.runStart)
	if l.opts.History != nil {
		l.opts.History.Add(r, rule)
	}
}

// add adds a record to the summary and the report. start is when the run of the
// record began. The caller holds l.mu.
func (l *Ledger) add(r record.Record, rule *record.Rule, start time.Time) {
	l.addToHost(r)
	l.addToTotal(r)
	if l.report != nil {
		l.report.Add(r, rule, start.Sub(l.crawlStart))
	}
}

// addToHost adds a record to the summary of its host.
func (l *Ledger) addToHost(r record.Record) {
	h := l.host(r.Host)
	switch r.Verdict {
	case record.Fetched:
		h.Fetched++
	case record.Moved:
		h.Moved++
	case record.NotFound:
		h.NotFound++
	case record.Disallowed:
		h.Disallowed++
	case record.RobotsTxt:
		h.robotsTxt[record.Origin(r.URL)] = robotsSummary(r)
	}
	if r.Verdict.Lost() {
		h.Lost++
	}
	if d := r.Decision; d != nil {
		h.intervals[record.Origin(r.URL)] = max(l.opts.Interval, d.CrawlDelay).Seconds()
	}
}

// addToTotal adds a record to the summary of the crawl.
func (l *Ledger) addToTotal(r record.Record) {
	s := &l.total
	s.Add(r.Verdict)
	if r.Verdict.Lost() {
		s.Lost = append(s.Lost, r.Brief())
	}
	isPage := r.Verdict != record.RobotsTxt && r.Verdict != record.Checked
	if isPage && r.Status != 0 {
		if s.Statuses == nil {
			s.Statuses = make(map[int]int)
		}
		s.Statuses[r.Status]++
	}
	if r.NoIndex {
		s.NoIndex++
		s.NotToKeep = append(s.NotToKeep, r.Brief())
	}
	if r.NoFollow {
		s.NoFollow++
	}
	if r.Verdict == record.Fetched && r.Refusal != nil {
		s.Doubtful = append(s.Doubtful, r.Brief())
	}
	for _, u := range r.Uses {
		l.addUse(u)
	}
}

// addUse adds a preference of a page to the summary.
func (l *Ledger) addUse(u preference.Verdict) {
	for _, statement := range u.Evidence {
		if statement.Draft != "" {
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
	p, ok := l.print.(*textPrinter)
	if !ok || !p.live {
		return func() {}
	}
	stopped := make(chan bool)
	go func() {
		ticker := time.NewTicker(progressPeriod)
		defer ticker.Stop()
		for {
			select {
			case stopped <- true:
				return
			case <-ticker.C:
				queue := state()
				l.mu.Lock()
				soFar := l.total
				soFar.Seconds = l.earlier + record.Since(l.runStart)
				p.progress(soFar, queue)
				l.mu.Unlock()
			}
		}
	}()
	return func() { <-stopped }
}

// Finish prints and returns the summary. The keys of ended are the hosts whose
// crawl has ended, and its values are the numbers of their queued pages.
func (l *Ledger) Finish(stopped string, state frontier.State, ended map[string]int) record.Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.total
	s.Seconds = l.earlier + record.Since(l.runStart)
	s.Stopped = stopped
	s.Left = state.Queued
	s.Elsewhere = state.Spent + state.Free
	for _, v := range record.Verdicts {
		s.Elsewhere = max(s.Elsewhere-s.Count(v), 0)
	}
	for _, host := range slices.Sorted(maps.Keys(ended)) {
		s.Ended = append(s.Ended, record.EndedHost{Host: host, Left: ended[host]})
	}
	end := time.Now()
	for _, h := range l.hosts {
		s.Hosts = append(s.Hosts, h.summary(end))
	}
	slices.SortFunc(s.Hosts, func(a, b record.HostSummary) int { return cmp.Compare(a.Host, b.Host) })
	l.print.summary(s)
	return s
}

// Idle reports whether this run has added no record. Call it after Finish.
func (l *Ledger) Idle() bool { return l.added == 0 }

// Err returns the first error of writing the output. Call it after Finish.
func (l *Ledger) Err() error { return l.out.err }

// host returns the host with this name, and adds it if it is new.
func (l *Ledger) host(name string) *host {
	h := l.hosts[name]
	if h == nil {
		h = &host{
			HostSummary: record.HostSummary{Host: name, Interval: l.opts.Interval.Seconds()},
			robotsTxt:   make(map[string]string),
			intervals:   make(map[string]float64),
		}
		l.hosts[name] = h
	}
	return h
}
