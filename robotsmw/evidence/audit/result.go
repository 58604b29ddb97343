package audit

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// A Result is the result of an audit.
type Result struct {
	Requests   int // of robots and browsers
	Violations int
	Unaudited  int            // page requests that could not be judged, plus requests that a record has lost
	Broken     int            // lines and records that could not be read or used
	Cut        int            // inputs that were not read to their end, loss lines, most faults in records
	Jumps      int            // lines that are over ten seconds older than a line read earlier
	Robots     []*RobotResult // with the most violations first
	Hosts      []*HostResult  // with the most violations first
	Spans      []Span         // at most 1,000; if more were found, one Span with Host "…" covers the rest
}

// A RobotResult is the result for one robot.
type RobotResult struct {
	Name        string // as first seen; names that differ only in case are one robot
	Requests    int
	Fetches     int // of robots.txt
	Hosts       int
	Unaudited   int
	Kinds       map[Kind]int // how many violations of each kind
	Violations  []Violation  // the first 100
	First, Last time.Time
	ShortestGap time.Duration   // between two pages of one host; negative if there was no such gap
	CrawlDelay  time.Duration   // the longest Crawl-delay in force between two pages
	Days        map[string]*Day // by date in UTC, such as "2026-11-20"; "…" is for days after the first 1,000

	today *Day  // the last result of day()
	begun int64 // the beginning of the day that day() returned last
}

// A HostResult is the result for one host.
type HostResult struct {
	Name     string // "" if the log does not name the host
	Requests int    // of robots
	Kinds    map[Kind]int
}

// A Day counts what a robot did on one day in UTC.
type Day struct{ Requests, Violations, Unaudited int }

// A Span is a period in which requests to a host could not be judged, mostly
// because no robots.txt is known. The next request that can be judged ends the
// Span. A period in which a record has lost requests is also a Span. Its Host
// is "".
type Span struct {
	Host     string
	From, To time.Time
	Requests int
}

// A Broken is a problem with a line or record: it could not be read or used, or
// its time jumps back.
type Broken struct {
	Input string
	Line  int // counted from 1; in an archive, the number of the record
	Err   error
	jump  bool // the problem is only that the time jumps back; the line is used
}

var errNoTime = errors.New("a request without a time")

const (
	keptViolations = 100  // of each robot
	keptDays       = 1000 // of each robot
	keptSpans      = 1000
)

func (r *Result) robot(name string) *RobotResult {
	sums := &RobotResult{Name: name, ShortestGap: -1, Kinds: make(map[Kind]int), Days: make(map[string]*Day)}
	r.Robots = append(r.Robots, sums)
	return sums
}

func (r *Result) addSpan(s Span) {
	if len(r.Spans) < keptSpans {
		r.Spans = append(r.Spans, s)
		return
	}
	last := &r.Spans[keptSpans-1] // the last Span is also used for all further ones
	last.Host = "…"
	last.Requests += s.Requests
	if s.From.Before(last.From) {
		last.From = s.From
	}
	if s.To.After(last.To) {
		last.To = s.To
	}
}

func (r *Result) finish() {
	slices.SortStableFunc(r.Spans, func(a, b Span) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Host, b.Host)) })
	slices.SortFunc(r.Robots, func(a, b *RobotResult) int {
		return cmp.Or(cmp.Compare(sum(b.Kinds), sum(a.Kinds)), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(r.Hosts, func(a, b *HostResult) int {
		return cmp.Or(cmp.Compare(sum(b.Kinds), sum(a.Kinds)), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
	})
	for _, robot := range r.Robots {
		slices.SortStableFunc(robot.Violations, func(a, b Violation) int { return a.Time.Compare(b.Time) })
	}
}

func sum(kinds map[Kind]int) (n int) {
	for _, count := range kinds {
		n += count
	}
	return n
}

func (r *RobotResult) day(at int64) *Day {
	const day = int64(24 * time.Hour)
	if r.today != nil && at >= r.begun && at-r.begun < day {
		return r.today
	}
	r.begun = at - (at%day+day)%day
	name := asTime(at).Format(time.DateOnly)
	d := r.Days[name]
	if d == nil {
		if len(r.Days) >= keptDays {
			name = "…" // one Day is used for all further days
		}
		if d = r.Days[name]; d == nil {
			d = new(Day)
			r.Days[name] = d
		}
	}
	r.today = d
	return d
}

func (r *RobotResult) seen(at int64) {
	t := asTime(at)
	if r.First.IsZero() || t.Before(r.First) {
		r.First = t
	}
	if t.After(r.Last) {
		r.Last = t
	}
}

func (r *RobotResult) gap(gap, want time.Duration) {
	if r.ShortestGap < 0 || gap < r.ShortestGap {
		r.ShortestGap = max(gap, 0)
	}
	r.CrawlDelay = max(r.CrawlDelay, want)
}

func (r *RobotResult) violation(v Violation) {
	r.Kinds[v.Kind]++
	r.day(v.Time.UnixNano()).Violations++
	if len(r.Violations) < keptViolations {
		r.Violations = append(r.Violations, v)
	}
}
