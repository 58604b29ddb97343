package audit

import (
	"encoding/json"
	"math"
	"time"
)

// A Kind says which rule a request broke.
type Kind string

const (
	Disallowed      Kind = "disallowed"        // the robots.txt in force forbids the URL
	Stale           Kind = "stale"             // an older robots.txt allows the URL, but the robot got it too long ago
	BeforeRobotsTxt Kind = "before-robots-txt" // the robot had not asked for robots.txt before it asked for a page
	Gap             Kind = "gap"               // the request began too soon after the previous one
	RetryAfter      Kind = "retry-after"       // an answer had asked the robot to stay away until later
)

// A Violation is a request that broke a rule.
type Violation struct {
	Time  time.Time // when the request began or, if that is not known, when it ended
	Robot string    // product token
	Host  string    // "" if the log does not name the host
	URL   string    // as requested
	Kind  Kind

	Line int    // the line of the rule or Crawl-delay in robots.txt; 0 if none
	Rule string // the text of that line, such as "Disallow: /private/"

	// Only the kinds Gap, Stale and RetryAfter set these fields. With kind Gap,
	// Previous is the time of the previous request. With Stale, it is the time
	// of the robot's last fetch of robots.txt. With RetryAfter, it is the time
	// of the answer that asked the robot to stay away. Field Gap is the time
	// since Previous. Want is the shortest Gap that is allowed or, with Stale,
	// the longest.
	Previous  time.Time
	Gap, Want time.Duration
}

// MarshalJSON writes v in the form that the command "robotscheck audit -json"
// prints.
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

func seconds(d time.Duration) *float64 {
	s := math.Round(d.Seconds()*1e9) / 1e9
	return &s
}

// The type "reorder" sorts violations. It holds each violation until no earlier
// one can come, or until it holds too many.
type reorder struct {
	held  []Violation // a heap by time
	rank  []uint64
	count uint64
	bytes int
}

const (
	heldViolations = 1 << 14
	heldBytes      = 16 << 20
	holdFor        = time.Hour // violations found later than this after their Time may be out of order
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

// pop takes the earliest violation, if it was before the given time or if too
// many are held. Otherwise ok is false.
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
