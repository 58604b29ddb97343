package audit

import (
	"encoding/json"
	"math"
	"time"
)

// A Violation is a request that broke a rule.
type Violation struct {
	Time    time.Time // when the request began or, if that is not known, when it ended
	Robot   string    // the name in its User-Agent
	Address string    // the client's; "" if not known
	Host    string    // "" if the log does not name the host
	URL     string    // as requested; of a URL of more than 2 KiB, the beginning and "…"

	// Kind says which rule was broken: "disallowed", "stale",
	// "before-robots-txt", "gap" or "retry-after". The package doc explains
	// them.
	Kind string

	Line int    // the line of the rule or Crawl-delay in robots.txt; 0 if none
	Rule string // the text of that line, such as "Disallow: /private/"

	// Only gap, stale and retry-after set these fields. With gap, Previous is
	// the time of the previous request; with stale, of the robot's last fetch
	// of robots.txt; with retry-after, of the answer that asked the robot to
	// stay away. Gap is the time since Previous. Want is the shortest Gap that
	// is allowed or, with stale, the longest.
	Previous  time.Time
	Gap, Want time.Duration
}

// MarshalJSON writes v in the form that the command "robotscheck audit -json"
// prints.
func (v Violation) MarshalJSON() ([]byte, error) {
	type object struct {
		Time     string   `json:"time"`
		Robot    string   `json:"robot"`
		Address  string   `json:"address,omitempty"`
		Host     string   `json:"host"`
		URL      string   `json:"url"`
		Kind     string   `json:"kind"`
		Line     int      `json:"line,omitempty"`
		Rule     string   `json:"rule,omitempty"`
		Previous string   `json:"previous,omitempty"`
		Gap      *float64 `json:"gap,omitempty"`
		Want     *float64 `json:"want,omitempty"`
	}
	o := object{Time: v.Time.UTC().Format(time.RFC3339Nano), Robot: v.Robot, Address: v.Address, Host: v.Host, URL: v.URL, Kind: v.Kind, Line: v.Line, Rule: v.Rule}
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
