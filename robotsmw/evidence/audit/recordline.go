package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A recordLine contains what an audit needs from one line of a record. The
// comment above each group of fields lists the kinds of line with these fields.
type recordLine struct {
	Event string    `json:"event"`
	Time  time.Time `json:"time"`

	// in segment lines
	Why string     `json:"why"`
	Cut *recordCut `json:"cut"`

	// in robot lines
	UserAgent         string            `json:"user_agent"`
	Tokens            []string          `json:"tokens"`
	DisallowForbidden bool              `json:"disallow_forbidden"`
	AllowAfter30Days  bool              `json:"allow_after_30_days"`
	Override          map[string]string `json:"override"`

	// in limiter lines
	Concurrency   int     `json:"concurrency"`
	EndToStart    bool    `json:"end_to_start"`
	MaxCrawlDelay float64 `json:"max_crawl_delay"`
	ClampDelay    bool    `json:"clamp_crawl_delay"` // only old records have it
	MaxRetryAfter float64 `json:"max_retry_after"`
	Lease         float64 `json:"lease"`
	Key           string  `json:"key"`
	PerHost       bool    `json:"per_host"`

	// in file, fetch and robots lines
	SHA256      string    `json:"sha256"`
	Text        string    `json:"text"`
	Base64      string    `json:"base64"`
	URL         string    `json:"robots_url"`
	Status      int       `json:"status"`
	Location    string    `json:"location"`
	Conditional bool      `json:"conditional"`
	Error       string    `json:"error"`
	Renewed     bool      `json:"renewed"`
	Redirects   int       `json:"redirects"`
	Fetched     time.Time `json:"fetched"`
	Expires     time.Time `json:"expires"`
	Cause       string    `json:"cause"`

	hasRules bool // the response to a fetch contains rules, so it is not from bot protection

	// in request, answer, pause and done lines; "url" is also in fetch and
	// decision lines, and "decision" in decision lines
	Limiter    int             `json:"limiter"`
	Request    int             `json:"request"`
	Target     string          `json:"url"`
	Host       string          `json:"host"`
	Robots     bool            `json:"robots"`
	Start      time.Time       `json:"start"`
	At         time.Time       `json:"at"`
	End        time.Time       `json:"end"`
	Until      time.Time       `json:"until"`
	Delay      float64         `json:"delay"`
	CrawlDelay float64         `json:"crawl_delay"`
	Agreed     bool            `json:"crawl_delay_agreed"`
	Asks       float64         `json:"asks"`
	Decision   *recordDecision `json:"decision"`

	// in loss lines; "from" is also in robots lines, where its value is "fetch"
	// or "store"
	From string         `json:"from"`
	Lost map[string]int `json:"lost"`

	// in fetch, segment and close lines: parts of WARC files
	Pieces *recordPieces `json:"warc"`
}

type recordCut struct {
	Segment int   `json:"segment"`
	Offset  int64 `json:"offset"`
}

// recordPieces contains the positions of parts of a WARC file, or the size and
// hash of the file.
type recordPieces struct {
	File     string       `json:"file"`
	Request  *recordPiece `json:"request"`
	Response *recordPiece `json:"response"`
	Revisit  *recordPiece `json:"revisit"`
	Bytes    int64        `json:"bytes"`
	SHA256   string       `json:"sha256"`
}

type recordPiece struct {
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	SHA256 string `json:"sha256"`
}

type recordDecision struct {
	Decided    time.Time `json:"decided"`
	Allowed    bool      `json:"allowed"`
	Reason     string    `json:"reason"`
	Rule       string    `json:"rule"`
	Line       int       `json:"line"`
	Group      []string  `json:"group"`
	GroupLines []int     `json:"group_lines"`
	RobotsURL  string    `json:"robots_url"`
	SHA256     string    `json:"sha256"`
	Status     int       `json:"status"`
	Fetched    time.Time `json:"fetched"`
	Expires    time.Time `json:"expires"`
	Stale      bool      `json:"stale"`

	FailedSince time.Time `json:"failed_since"`
}

// Package evidence records at most maxGroupLines user-agent lines of a group,
// and at most maxText bytes of the value of each. A Location is limited to
// maxText too.
const (
	maxGroupLines = 16
	maxText       = 8 << 10
)

// matches reports whether d contains the rule, line and group of m, which is
// the result of its robots.txt for the URL.
func (d *recordDecision) matches(m robotstxt.Match) bool {
	var agents []string
	var lines []int
	for _, agent := range m.Group[:min(len(m.Group), maxGroupLines)] {
		agents = append(agents, inJSON(agent.Value[:min(len(agent.Value), maxText)]))
		lines = append(lines, agent.Line)
	}
	isSameRule := d.Line == m.Line && d.Rule == inJSON(ruleText(m))
	return isSameRule && slices.Equal(d.Group, agents) && slices.Equal(d.GroupLines, lines)
}

// inJSON returns the result of encoding a text as JSON and decoding it: each
// byte that is not UTF-8 is replaced by U+FFFD.
func inJSON(text string) string { return string([]rune(text)) }

// A recordFault is a fault in the record itself.
type recordFault struct {
	kind string // changed, contradicts or incomplete
	text string
}

const (
	changed     = "changed"
	contradicts = "contradicts"
	incomplete  = "cut"
)

func (f *recordFault) Error() string { return f.kind + ": " + f.text }

func contradiction(format string, args ...any) error {
	return &recordFault{contradicts, fmt.Sprintf(format, args...)}
}

var (
	errChanged   = &recordFault{changed, "the line does not match the hash that it contains"}
	errBeyondEnd = &recordFault{changed, "the line is beyond the recorded end of the segment"}
	errMissing   = &recordFault{changed, "the line does not contain the hash of the previous line"}
	errFile      = &recordFault{changed, "the robots.txt does not match its hash"}
	errCut       = &recordFault{incomplete, "the line is incomplete, so the events after it may be missing"}
	errUnclosed  = &recordFault{incomplete, "the session has no close line, so the events after this line may be missing"}
	errBeginning = &recordFault{incomplete, "the lines at the beginning of the record are missing"}
)
