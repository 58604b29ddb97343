package audit

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A Result is the result of an audit. The embedded Tally contains the totals.
// Its Requests include those of browsers.
type Result struct {
	Tally
	Robots []*Tally // those with the most violations first
	Hosts  []*Tally // those with the most violations first
	// Spans are periods in which requests to a host could not be judged, mostly
	// because no robots.txt is known. A span ends with the next request that
	// can be judged. A period in which a record has lost requests is a span
	// with the Name "". If there are more than 1,000 spans, one with the Name
	// "…" covers all that ended after the first 999.
	Spans   []Tally
	Records []*Tally // in the order in which they were read
}

// A Tally counts requests: those of a robot, to a host, on a day, in a span or
// in a record.
type Tally struct {
	// Name is the name of a robot, a host or a record, or a date. If the names
	// of a robot differ in case, it is the first of them. It is "" for a host
	// that the log does not contain. A Tally with the Name "…" counts
	// everything beyond the limits on the number of names.
	Name        string
	Requests    int
	Violations  int
	First, Last time.Time // the times of these requests

	// Counts contains further counts. A count of 0 may be missing.
	//
	//   - Violations by their Kind.
	//   - "unaudited": requests for pages that could not be judged, and
	//     requests that a record has lost. "not_shown": requests for pages of a
	//     robot without a known fetch of robots.txt.
	//   - Of robots, "fetches": requests for robots.txt; "hosts": the number of
	//     hosts.
	//   - Of a Result, "lines": lines and records that were read, at any time;
	//     "broken": those that could not be read or used, and faults in
	//     records; "cut": inputs that were not read to their end, loss lines,
	//     and most faults in records; "jumps": lines that are too far out of
	//     order to check gaps; "ignored": requests of the robots of
	//     Auditor.Ignore; "unnamed": requests without a User-Agent. If all
	//     requests are unnamed, robots cannot be distinguished from browsers.
	//   - Of a Result and of robots, "anonymous": requests of robots whose
	//     client the log does not identify. They prove no gap.
	//   - Of a record, "lines": those with a correct hash; "changed": lines,
	//     files and parts of WARC files that were modified; "contradicts":
	//     lines that another line contradicts; "faults": the sum of these and
	//     of truncated ends; "head": 1 if the record contains the line of
	//     Auditor.Head; "overridden": requests that obeyed an override of the
	//     operator instead of the site's file; "agreed": requests whose
	//     Crawl-delay was, according to the record, agreed with the site's
	//     owner; "both", "only_record", "only_log": requests that are in the
	//     record and in the site's log, or in one of them alone.
	Counts map[string]int

	// These fields are set for robots only. Addresses are the addresses of
	// clients in the order in which they were seen; if there are very many,
	// some are missing. ShortestGap is the shortest time between two requests
	// of one address for pages of one host, and negative if there was none.
	// CrawlDelay is the longest one in force between two pages. Days contains a
	// Tally for each date in UTC, such as "2026-11-20", and one named "…" for
	// the days after the first 1,000.
	Addresses               []string
	ShortestGap, CrawlDelay time.Duration
	Days                    map[string]*Tally

	Head string // of a record: the hash of its last line with a correct hash

	addresses map[string]bool
	today     *Tally // the last result of day
	dayStart  int64  // when the day of today began
}

const (
	maxDays  = 1000 // of each robot
	maxSpans = 1000
)

// maxNames limits the number of robots, hosts and addresses that are
// distinguished, and of paces, because clients can invent any number of names.
// Requests beyond the limit are judged by robots.txt alone.
const maxNames = 1 << 16

// rest is the Name of the Tally for everything beyond a limit.
const rest = "…"

func newTally(name string) *Tally {
	return &Tally{Name: name, ShortestGap: -1, Days: make(map[string]*Tally), addresses: make(map[string]bool)}
}

// count adds n to the count with this name.
func (t *Tally) count(name string, n int) {
	if t.Counts == nil {
		t.Counts = make(map[string]int)
	}
	t.Counts[name] += n
}

// sort sorts the Tallies of r. It also removes robots and hosts without a
// request between Since and Until.
func (r *Result) sort() {
	slices.SortStableFunc(r.Spans, func(a, b Tally) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Name, b.Name))
	})
	for _, list := range []*[]*Tally{&r.Robots, &r.Hosts} {
		*list = slices.DeleteFunc(*list, func(t *Tally) bool { return t.Requests == 0 })
		slices.SortFunc(*list, func(a, b *Tally) int {
			return cmp.Or(
				cmp.Compare(b.Violations, a.Violations),
				cmp.Compare(b.Requests, a.Requests),
				strings.Compare(a.Name, b.Name),
			)
		})
	}
}

// day returns the element of t.Days for the day of a time, and adds it if it is
// new.
func (t *Tally) day(nanos int64) *Tally {
	const day = int64(24 * time.Hour)
	if t.today == nil || nanos < t.dayStart || nanos-t.dayStart >= day {
		t.dayStart = nanos - (nanos%day+day)%day // also correct before 1970
		name := asTime(nanos).Format(time.DateOnly)
		if t.Days[name] == nil && len(t.Days) >= maxDays {
			name = rest
		}
		t.today = at(t.Days, name)
		t.today.Name = name
	}
	return t.today
}

// include extends the period from First to Last, so that it includes a time.
func (t *Tally) include(nanos int64) {
	at := asTime(nanos)
	if t.First.IsZero() || at.Before(t.First) {
		t.First = at
	}
	if at.After(t.Last) {
		t.Last = at
	}
}

// addGap adds the gap between two requests for pages. want is the Crawl-delay
// in force.
func (t *Tally) addGap(gap, want time.Duration) {
	if t.ShortestGap < 0 || gap < t.ShortestGap {
		t.ShortestGap = max(gap, 0)
	}
	t.CrawlDelay = max(t.CrawlDelay, want)
}

// A Violation is a request that violated a rule. Its Kind is one of these:
//
//   - disallowed: the file in force disallows the URL, or an equivalent path
//     (/x/../private/, //private/).
//   - stale: the file in force disallows the URL, and the robot's last fetch of
//     robots.txt, more than 24 hours before, allowed it. Up to 24 hours after
//     that fetch, or while later fetches fail, the request is no violation (RFC
//     9309 §2.4, §2.3.1.4).
//   - before-robots-txt: the robot has not requested robots.txt on this host
//     since the input began, which was more than 24 hours before. This is
//     reported once per robot and host, and only if no shared cache in front of
//     the server, such as a CDN, can have answered the robot: in the 24 hours
//     before, two requests for robots.txt arrived from one network within 10
//     minutes, the second of which a cache would have answered. For the log of
//     a CDN, this proof is not necessary. A request for robots.txt from any
//     address of the robot is sufficient.
//   - gap: one address requested pages of a host more often than once per
//     Crawl-delay. If the robot may still use an older robots.txt with a
//     shorter Crawl-delay, the shorter one applies.
//   - retry-after: this address had received a 429, a 503 or a redirect with a
//     Retry-After, and the requested pause was not over. A pause of more than
//     24 hours is treated as one of 24 hours. Logs in the combined format do
//     not contain Retry-After.
type Violation struct {
	Time    time.Time `json:"time"`              // when the request began or, if that is unknown, when it ended
	Robot   string    `json:"robot"`             // the name in the User-Agent
	Address string    `json:"address,omitempty"` // of the client; "" if unknown
	Host    string    `json:"host"`              // "" if the log does not contain the host
	URL     string    `json:"url"`               // as requested; longer URLs are shortened to 2 KiB and "…"
	Kind    string    `json:"kind"`

	Line int    `json:"line,omitempty"` // the line of the rule or Crawl-delay in robots.txt; 0 if none
	Rule string `json:"rule,omitempty"` // the text of that line, such as "Disallow: /private/"

	// These fields are set for gap, stale and retry-after only. Previous is the
	// time of the previous request (gap), of the robot's last fetch of
	// robots.txt (stale), or of the response with the Retry-After
	// (retry-after). Gap is the time since Previous. Want is the shortest Gap
	// that is allowed or, with stale, the longest. In JSON, both are in
	// seconds.
	Previous time.Time     `json:"previous,omitzero"`
	Gap      time.Duration `json:"-"`
	Want     time.Duration `json:"-"`
}

// MarshalJSON writes v in the form that the command "robotscheck audit -json"
// prints.
func (v Violation) MarshalJSON() ([]byte, error) {
	type plain Violation
	o := struct {
		plain
		Gap  *float64 `json:"gap,omitempty"`
		Want *float64 `json:"want,omitempty"`
	}{plain: plain(v)}
	if !v.Previous.IsZero() {
		o.Gap = new(float64(v.Gap) / 1e9)
		o.Want = new(float64(v.Want) / 1e9)
	}
	return json.Marshal(o)
}
