package audit

import (
	"encoding/json"
	"math"
	"time"
)

// A Kind says which rule a request broke.
type Kind string

const (
	Disallowed      Kind = "disallowed"        // the robots.txt in force forbids it
	Stale           Kind = "stale"             // allowed by an older robots.txt that was no longer to be used
	BeforeRobotsTxt Kind = "before-robots-txt" // the robot asked for a page before it had asked for robots.txt
	Gap             Kind = "gap"               // the request began too soon after the one before
	RetryAfter      Kind = "retry-after"       // an answer had asked the robot to stay away until later
)

// A Violation is a request that broke a rule.
type Violation struct {
	Time  time.Time // when the request began or, if only that is known, ended
	Robot string    // product token
	Host  string    // "" if the log does not name it
	URL   string    // as requested
	Kind  Kind

	Line int    // the line in robots.txt of the rule or of the Crawl-delay; 0: none
	Rule string // the text of that line: "Disallow: /private/"

	// These are set for three kinds. Previous is the time of the request before
	// (kind Gap), of the robot's last fetch of robots.txt (Stale), or of the
	// answer that asked the robot to stay away (RetryAfter). Gap is the time
	// since Previous. Want is the least that Gap may be, but for Stale the
	// most.
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

// seconds returns a duration in seconds, rounded to nanoseconds.
func seconds(d time.Duration) *float64 {
	s := math.Round(d.Seconds()*1e9) / 1e9
	return &s
}

// A reorder sorts violations. It holds each until no earlier one can come, or
// until it holds too many.
type reorder struct {
	held  []Violation // a heap by time
	rank  []uint64
	count uint64
	bytes int
}

const (
	heldViolations = 1 << 14
	heldBytes      = 16 << 20
	holdFor        = time.Hour // a violation that is found later than this after its time may be out of order
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

// pop takes the earliest violation, if it is before bound or if too many are
// held. Otherwise ok is false.
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
