package audit

import (
	"encoding/json"
	"math"
	"time"
)

// A Kind is a promise that a request broke.
type Kind string

const (
	Disallowed      Kind = "disallowed"        // the robots.txt in force forbids it
	Stale           Kind = "stale"             // so it does, and the robot went on by an older one for more than 24 hours
	BeforeRobotsTxt Kind = "before-robots-txt" // the robot's first page, before it had asked for robots.txt
	Gap             Kind = "gap"               // sooner after the request before than the Crawl-delay wants
	RetryAfter      Kind = "retry-after"       // within the time for which an answer asked to be left alone
)

// A Violation is a request that broke a promise.
type Violation struct {
	Time  time.Time // when the request began or, where only that is known, was over
	Robot string    // product token
	Host  string    // "" where the log names none
	URL   string    // as requested
	Kind  Kind

	Line int    // of robots.txt: that of the rule or of the Crawl-delay; 0: none
	Rule string // that line: "Disallow: /private/"

	// Previous is the request before for a Gap, the robot's last fetch of
	// robots.txt for Stale, and the answer that asked for the pause for
	// RetryAfter. Gap is the time since then and Want the least that it may be;
	// for Stale the most.
	Previous  time.Time
	Gap, Want time.Duration
}

// MarshalJSON writes the fields that robotscheck audit -json prints.
func (v Violation) MarshalJSON() ([]byte, error) {
	type object struct {
		Time     string   `json:"time"`
		Robot    string   `json:"robot"`
		Host     string   `json:"host"`
		URL      string   `json:"url"`
		Kind     Kind     `json:"kind"`
		Line     int      `json:"line,omitempty"`
		Rule     string   `json:"rule,omitempty"`
		Previous string   `json:"previous,omitempty"`
		Gap      *float64 `json:"gap,omitempty"`
		Want     *float64 `json:"want,omitempty"`
	}
	o := object{Time: v.Time.UTC().Format(time.RFC3339Nano), Robot: v.Robot, Host: v.Host, URL: v.URL, Kind: v.Kind, Line: v.Line, Rule: v.Rule}
	if !v.Previous.IsZero() {
		o.Previous = v.Previous.UTC().Format(time.RFC3339Nano)
		o.Gap, o.Want = seconds(v.Gap), seconds(v.Want)
	}
	return json.Marshal(o)
}

// seconds has no more digits than the log's times.
func seconds(d time.Duration) *float64 {
	s := math.Round(d.Seconds()*1e9) / 1e9
	return &s
}

// A reorder holds violations until none that is earlier can come, or too many
// are held.
type reorder struct {
	held  []Violation // a heap by time
	rank  []uint64
	count uint64
	bytes int
}

const (
	heldViolations = 1 << 14
	heldBytes      = 16 << 20
	holdFor        = time.Hour // a request that took longer comes out of order
)

func (o *reorder) before(i, j int) bool {
	if c := o.held[i].Time.Compare(o.held[j].Time); c != 0 {
		return c < 0
	}
	return o.rank[i] < o.rank[j]
}

func (o *reorder) swap(i, j int) {
	o.held[i], o.held[j] = o.held[j], o.held[i]
	o.rank[i], o.rank[j] = o.rank[j], o.rank[i]
}

func (o *reorder) push(v Violation) {
	o.held, o.rank = append(o.held, v), append(o.rank, o.count)
	o.count++
	o.bytes += len(v.URL)
	for i := len(o.held) - 1; i > 0 && o.before(i, (i-1)/2); i = (i - 1) / 2 {
		o.swap(i, (i-1)/2)
	}
}

// pop returns the earliest, if it is of a time before a bound or too many are
// held.
func (o *reorder) pop(bound time.Time) (v Violation, ok bool) {
	last := len(o.held) - 1
	if last < 0 || !o.held[0].Time.Before(bound) && last < heldViolations && o.bytes <= heldBytes {
		return v, false
	}
	v = o.held[0]
	o.swap(0, last)
	o.held[last] = Violation{}
	o.held, o.rank = o.held[:last], o.rank[:last]
	o.bytes -= len(v.URL)
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return v, true
		}
		if down+1 < last && o.before(down+1, down) {
			down++
		}
		if !o.before(down, i) {
			return v, true
		}
		o.swap(i, down)
		i = down
	}
}
