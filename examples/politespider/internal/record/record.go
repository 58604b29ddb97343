// Package record is what a crawl says of itself: a [Record] for each thing that
// happened and a [Summary] at its end, as the spider prints them and writes
// them as JSON.
package record

import (
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// Verdict is what became of a URL.
type Verdict string

const (
	Fetched     Verdict = "fetched"     // the server answered, whatever the status
	Moved       Verdict = "moved"       // it redirected; where to is a URL of its own
	Blocked     Verdict = "blocked"     // a rule of robots.txt says no; nothing was sent
	Unreachable Verdict = "unreachable" // robots.txt could not be had, so nothing is allowed
	Later       Verdict = "later"       // 429 or 503, or a long wait: back in the queue
	Missing     Verdict = "missing"     // 429 or 503 once too often: given up
	Failed      Verdict = "failed"      // no answer, or half of one
	RobotsTxt   Verdict = "robots.txt"  // not a page: an origin's robots.txt was asked for
)

// MaxPuts is how often a page that answers 429 or 503 goes back into the queue.
const MaxPuts = 3

// Record is one thing that happened in a crawl: a line of the output, or one of
// its JSON lines.
type Record struct {
	Seconds   float64 `json:"seconds"` // since the crawl began
	Verdict   Verdict `json:"verdict"`
	URL       string  `json:"url"`
	Host      string  `json:"host"`           // its unit of politeness
	From      string  `json:"from,omitempty"` // the page it was found on
	Status    int     `json:"status,omitempty"`
	Waited    float64 `json:"waited,omitempty"`     // seconds from its turn to its request, to spare the host
	Location  string  `json:"location,omitempty"`   // of Moved
	NoIndex   bool    `json:"noindex,omitempty"`    // by a robots meta or X-Robots-Tag
	NoFollow  bool    `json:"nofollow,omitempty"`   // likewise
	Links     int     `json:"links,omitempty"`      // on it, not seen before: queued
	LinksLeft int     `json:"links_left,omitempty"` // on it, not followed because it or they ask so
	Put       int     `json:"put,omitempty"`        // how often it has been put off, of Later and Missing
	Again     float64 `json:"again,omitempty"`      // seconds until its next turn, of Later
	Redirects int     `json:"redirects,omitempty"`  // followed, of RobotsTxt
	Error     string  `json:"error,omitempty"`

	// Requests are what was sent for it: nothing, one request, or those that a
	// robots.txt redirects to as well.
	Requests []Request `json:"requests,omitempty"`

	// PausedUntil is when its host may be asked again, in seconds since the
	// crawl began, if it is left alone because of this answer: a 429 or 503.
	PausedUntil float64 `json:"paused_until,omitempty"`

	Said // of what was fetched

	// Decision is what robots.txt says, with the rule and its line; nil if
	// nothing was decided.
	Decision *robotsmw.Decision `json:"decision,omitempty"`
}

// Request is one request that was sent.
type Request struct {
	URL      string  `json:"url,omitempty"`    // if it is of a robots.txt, which may redirect; else the record's
	Host     string  `json:"host,omitempty"`   // likewise
	At       float64 `json:"at"`               // its start, in seconds since the crawl began
	Took     float64 `json:"took"`             // seconds until the answer began
	Status   int     `json:"status,omitempty"` // of the answer; 0: there was none
	Interval float64 `json:"interval"`         // seconds that the host is owed from At on
	Asked    string  `json:"asked,omitempty"`  // which signature the answer asks for, in words
}

// Brief is the record as the summary lists it: the evidence stands where it was
// first printed.
func (r Record) Brief() Record {
	r.Decision, r.Said, r.Requests = nil, Said{}, nil
	return r
}

// Summary is what a crawl came to.
type Summary struct {
	Seconds     float64       `json:"seconds"`
	Stopped     string        `json:"stopped,omitempty"` // why before its end: "interrupted", "max-pages", "failed"
	Fetched     int           `json:"fetched"`
	Moved       int           `json:"moved"`
	Blocked     int           `json:"blocked"`
	Unreachable int           `json:"unreachable"`
	Missing     int           `json:"missing"`
	Failed      int           `json:"failed"`
	Left        int           `json:"left"`                // URLs still queued
	Elsewhere   int           `json:"elsewhere,omitempty"` // pages done by earlier runs and other processes of this crawl
	NoIndex     int           `json:"noindex"`
	NoFollow    int           `json:"nofollow"`
	Hosts       []HostSummary `json:"hosts"`          // by name
	Lost        []Record      `json:"lost"`           // what is Unreachable, Missing or Failed
	NotToKeep   []Record      `json:"not_to_keep"`    // fetched, and noindex
	Uses        []UseSummary  `json:"uses,omitempty"` // those that any page says something about

	// Drafts are the documents by which statements about use were read that may
	// still change, by signal.
	Drafts map[preference.Signal]string `json:"drafts,omitempty"`
}

// UseSummary counts the pages by what they say about a use.
type UseSummary struct {
	Use   preference.Use `json:"use"`
	Allow int            `json:"allow"`
	Deny  int            `json:"deny"`
}

// HostSummary is the part of one host.
type HostSummary struct {
	Host      string  `json:"host"`
	Requests  int     `json:"requests"` // sent to it, robots.txt and second tries included
	Interval  float64 `json:"interval"` // seconds that it is owed between two pages
	Fetched   int     `json:"fetched"`
	Blocked   int     `json:"blocked"`
	Lost      int     `json:"lost"`
	Closest   float64 `json:"closest,omitempty"` // seconds between the starts of the two pages closest to each other
	RobotsTxt string  `json:"robots_txt"`        // how its robots.txt answered
}
