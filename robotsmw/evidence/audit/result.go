package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Result is the result of an audit.
type Result struct {
	Requests   int // of robots and browsers
	Violations int
	Unaudited  int             // page requests that could not be judged, plus requests that a record has lost
	NotShown   int             // page requests whose robot is not shown to have had robots.txt
	Lines      int             // lines and records that were read, whatever their time
	Broken     int             // those that could not be read or used
	Cut        int             // inputs that were not read to their end, loss lines, most faults in records
	Jumps      int             // lines that are too far from their place to be judged on order
	Records    []*RecordResult // in the order in which they were read
	Robots     []*Tally
	Hosts      []*Tally // like Robots, with the most violations first
	// Spans are periods in which requests to a host could not be judged, mostly
	// because no robots.txt is known. The next request that can be judged ends
	// a Span. A period in which a record has lost requests is also one; its
	// Name is "". After 1,000, one Span named "…" covers the rest.
	Spans []Tally
}

// A RecordResult says whether a record is whole, and agrees with itself.
type RecordResult struct {
	Name       string
	Lines      int    // with the right hash
	Head       string // the hash of the last of these lines
	Changed    int    // lines, files and parts of WARC files that are not as they were written
	Contradict int    // lines that another line contradicts
	Faults     int    // these, and ends that are cut off
	HeadFound  bool   // whether the record has the line of Auditor.Head
	Both       int    // requests that Auditor.Against has too
	OnlyRecord int    // requests that only the record has
	OnlyLog    int    // requests that only Auditor.Against has
	Overridden int    // requests that obeyed the operator's file, not the site's
}

// A Tally counts requests: those of a robot, to a host, on a day or in a span.
type Tally struct {
	// Name is a robot's as first seen (names that differ only in case are one
	// robot), or a host's ("" if the log does not name it), or a date.
	Name        string
	Requests    int
	Violations  int
	Unaudited   int
	NotShown    int
	Kinds       map[Kind]int // how many violations of each kind; not of days
	First, Last time.Time

	// Only robots have the rest.
	Fetches        int // of robots.txt
	Hosts          int
	Addresses      int // of clients; at least so many, if there are very many
	FirstAddresses []string
	// ShortestGap is between two pages of one host, asked for by one address;
	// negative if there was no such gap. CrawlDelay is the longest one in force
	// between two pages.
	ShortestGap, CrawlDelay time.Duration
	// Days has a Tally for each date in UTC, such as "2026-11-20", and one
	// named "…" for the days after the first 1,000.
	Days map[string]*Tally

	addresses map[string]bool
	today     *Tally // the last result of day()
	begun     int64  // when the day of today began
}

// A Broken is a problem with a line or record: it could not be read or used, or
// is too far from its place.
type Broken struct {
	Input string
	Line  int // counted from 1; in an archive, the number of the record
	Err   error
}

const (
	keptDays      = 1000 // of each robot
	keptSpans     = 1000
	keptAddresses = 3 // of each robot, by name
)

// rest is the Name of a Tally for all that is too much to be told apart.
const rest = "…"

func newTally(name string) *Tally {
	return &Tally{Name: name, ShortestGap: -1, Kinds: make(map[Kind]int), Days: make(map[string]*Tally)}
}

func (r *Result) addSpan(s Tally) {
	if len(r.Spans) < keptSpans {
		r.Spans = append(r.Spans, s)
		return
	}
	last := &r.Spans[keptSpans-1] // the last Span is also used for all further ones
	last.Name = rest
	last.Requests += s.Requests
	last.seen(s.First.UnixNano())
	last.seen(s.Last.UnixNano())
}

func (r *Result) finish() {
	slices.SortStableFunc(r.Spans, func(a, b Tally) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Name, b.Name)) })
	for _, list := range []*[]*Tally{&r.Robots, &r.Hosts} {
		*list = slices.DeleteFunc(*list, func(t *Tally) bool { return t.Requests == 0 }) // seen only outside of Since and Until
		slices.SortFunc(*list, func(a, b *Tally) int {
			return cmp.Or(cmp.Compare(b.Violations, a.Violations), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
		})
	}
}

// day returns the Tally of a robot for the day of a time.
func (t *Tally) day(at int64) *Tally {
	const day = int64(24 * time.Hour)
	if t.today == nil || at < t.begun || at-t.begun >= day {
		t.begun = at - (at%day+day)%day
		name := asTime(at).Format(time.DateOnly)
		if t.Days[name] == nil && len(t.Days) >= keptDays {
			name = rest
		}
		if t.Days[name] == nil {
			t.Days[name] = &Tally{Name: name}
		}
		t.today = t.Days[name]
	}
	return t.today
}

func (t *Tally) seen(at int64) {
	time := asTime(at)
	if t.First.IsZero() || time.Before(t.First) {
		t.First = time
	}
	if time.After(t.Last) {
		t.Last = time
	}
}

func (t *Tally) gap(gap, want time.Duration) {
	if t.ShortestGap < 0 || gap < t.ShortestGap {
		t.ShortestGap = max(gap, 0)
	}
	t.CrawlDelay = max(t.CrawlDelay, want)
}
