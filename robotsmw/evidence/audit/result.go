package audit

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A Result is the result of an audit. Its Tally counts everything; its Requests
// are those of robots and browsers.
type Result struct {
	Tally
	Robots []*Tally // those with the most violations first
	Hosts  []*Tally // likewise
	// Spans are periods in which requests to a host could not be judged, mostly
	// because no robots.txt is known. The next request that can be judged ends
	// a span. A period in which a record has lost requests is also one; its
	// Name is "". After 1,000, one span named "…" covers the rest.
	Spans   []Tally
	Records []*Tally // in the order in which they were read
}

// A Tally counts requests: those of a robot, to a host, on a day, in a span or
// in a record.
type Tally struct {
	// Name is a robot's as first seen (names that differ only in case are one
	// robot), or a host's ("" if the log does not name it), or a date, or a
	// record's. "…" stands for all that is too much to be told apart.
	Name        string
	Requests    int
	Violations  int
	First, Last time.Time // the times of these requests

	// Counts has what else was counted. A count of 0 may be missing.
	//
	//   - Violations by their Kind.
	//   - "unaudited": requests for pages that could not be judged, and
	//     requests that a record has lost. "not_shown": pages whose robot is
	//     not shown to have had robots.txt.
	//   - Of robots, "fetches": requests for robots.txt; "hosts": how many.
	//   - Of a Result, "lines": lines and records that were read, whatever
	//     their time; "broken": those that could not be read or used, and
	//     faults in records; "cut": inputs that were not read to their end,
	//     loss lines, and most faults in records; "jumps": lines that are too
	//     far from their place to be judged on order; "ignored": requests of
	//     the robots of Auditor.Ignore; "unnamed": requests without a
	//     User-Agent. If all are, no robot can be told from a browser.
	//   - Of a Result and of robots, "anonymous": requests of robots whose
	//     client the log does not identify. They prove no gap.
	//   - Of a record, "lines": those with the right hash; "changed": lines,
	//     files and parts of WARC files that are not as they were written;
	//     "contradicts": lines that another line contradicts; "faults": these,
	//     and ends that are cut off; "head": 1 if the record has the line of
	//     Auditor.Head; "overridden": requests that obeyed the operator's file,
	//     not the site's; "agreed": requests whose Crawl-delay was not the
	//     site's but, according to the record, agreed with the site's owner;
	//     "both", "only_record", "only_log": requests that the record and the
	//     site's log have, or one of them alone.
	Counts map[string]int

	// Only robots have these. Addresses are those of clients in the order in
	// which they were seen; if there are very many, some are missing.
	// ShortestGap is between two pages of one host, asked for by one address,
	// and negative if there was no such gap. CrawlDelay is the longest one in
	// force between two pages. Days has a Tally for each date in UTC, such as
	// "2026-11-20", and one named "…" for the days after the first 1,000.
	Addresses               []string
	ShortestGap, CrawlDelay time.Duration
	Days                    map[string]*Tally

	Head string // only of a record: the hash of its last line with the right hash

	addresses map[string]bool
	today     *Tally // the last result of day
	begun     int64  // when the day of today began
}

const (
	keptDays  = 1000 // of each robot
	keptSpans = 1000
)

// mostKept is how many robots, hosts, addresses and so on are told apart, and
// how many paces. Whoever makes requests can invent more. Further ones are
// judged by robots.txt alone.
const mostKept = 1 << 16

// rest is the Name of a Tally for all that is too much to be told apart.
const rest = "…"

func newTally(name string) *Tally {
	return &Tally{Name: name, ShortestGap: -1, Days: make(map[string]*Tally), addresses: make(map[string]bool)}
}

func (t *Tally) count(what string, n int) {
	if t.Counts == nil {
		t.Counts = make(map[string]int)
	}
	t.Counts[what] += n
}

// sort also leaves out what was seen only outside of Since and Until.
func (r *Result) sort() {
	slices.SortStableFunc(r.Spans, func(a, b Tally) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Name, b.Name)) })
	for _, list := range []*[]*Tally{&r.Robots, &r.Hosts} {
		*list = slices.DeleteFunc(*list, func(t *Tally) bool { return t.Requests == 0 })
		slices.SortFunc(*list, func(a, b *Tally) int {
			return cmp.Or(cmp.Compare(b.Violations, a.Violations), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
		})
	}
}

// day returns the Tally of a robot for the day of a time.
func (t *Tally) day(nanos int64) *Tally {
	const day = int64(24 * time.Hour)
	if t.today == nil || nanos < t.begun || nanos-t.begun >= day {
		t.begun = nanos - (nanos%day+day)%day
		name := asTime(nanos).Format(time.DateOnly)
		if t.Days[name] == nil && len(t.Days) >= keptDays {
			name = rest
		}
		t.today = at(t.Days, name)
		t.today.Name = name
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

// A Violation is a request that broke a rule. Its Kind says which:
//
//   - disallowed: the file in force forbids the URL, or a path that servers
//     take for the same (/x/../private/, //private/).
//   - stale: that file forbids the URL. The robot last got robots.txt more than
//     24 hours before, when it allowed the URL. Up to 24 hours after that
//     fetch, or while later fetches fail, the request is no violation (RFC 9309
//     §2.4, §2.3.1.4).
//   - before-robots-txt: the robot has not requested robots.txt on this host
//     since the input began, which was more than 24 hours before. This is
//     reported once per robot and host, and only if no shared cache in front of
//     the server, such as a CDN, can have answered the robot: in the 24 hours
//     before, two requests for robots.txt came from one network within 10
//     minutes, the second of which a cache would have answered. The log of a
//     CDN itself needs no such proof. A fetch counts from any address.
//   - gap: more pages of a host were asked for from one address than one in
//     each Crawl-delay. If the robot may still use an older robots.txt with a
//     shorter one, that counts.
//   - retry-after: the Retry-After of a 429, a 503 or a redirect had asked the
//     robot, at this address, to leave the host alone for a time, and this time
//     was not over. More than 24 hours count as 24 hours. The combined format
//     does not have this header.
type Violation struct {
	Time    time.Time `json:"time"`              // when the request began or, if that is not known, when it ended
	Robot   string    `json:"robot"`             // the name in its User-Agent
	Address string    `json:"address,omitempty"` // the client's; "" if not known
	Host    string    `json:"host"`              // "" if the log does not name the host
	URL     string    `json:"url"`               // as requested; of a URL of more than 2 KiB, the beginning and "…"
	Kind    string    `json:"kind"`

	Line int    `json:"line,omitempty"` // the line of the rule or Crawl-delay in robots.txt; 0 if none
	Rule string `json:"rule,omitempty"` // the text of that line, such as "Disallow: /private/"

	// Only gap, stale and retry-after set these fields. With gap, Previous is
	// the time of the previous request; with stale, of the robot's last fetch
	// of robots.txt; with retry-after, of the answer that asked the robot to
	// stay away. Gap is the time since Previous. Want is the shortest Gap that
	// is allowed or, with stale, the longest. In JSON, both are in seconds.
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
		o.Gap, o.Want = new(float64(v.Gap)/1e9), new(float64(v.Want)/1e9)
	}
	return json.Marshal(o)
}
