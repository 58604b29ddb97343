// Package record defines what a crawl reports: a [Record] for each thing that
// happened and a [Summary] at its end. The spider prints them as text or writes
// them as JSON.
package record

import (
	"net/http"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// A Verdict is what became of a URL.
type Verdict string

const (
	Fetched     Verdict = "fetched"     // the server sent the page: 2xx
	Moved       Verdict = "moved"       // the server redirected: 3xx; the target is a URL of its own
	NotFound    Verdict = "not found"   // there is no such page: 404 or 410
	Refused     Verdict = "refused"     // a 4xx other than 404, 410 and 429, or a sure refusal with 2xx or 3xx
	Blocked     Verdict = "blocked"     // a rule of robots.txt forbids it; nothing was sent
	Unreachable Verdict = "unreachable" // robots.txt could not be fetched, so everything is disallowed
	PutOff      Verdict = "put off"     // 429 or 503: the page goes back into the queue
	GivenUp     Verdict = "given up"    // 429 or 503 once too often
	Failed      Verdict = "failed"      // no answer, half of one, or another status, such as 500
	RobotsTxt   Verdict = "robots.txt"  // not about a page: the robots.txt of an origin was fetched
)

// Verdicts lists the verdicts on pages, in the order in which the summary
// counts them.
var Verdicts = []Verdict{Fetched, Moved, NotFound, Refused, Blocked, Unreachable, GivenUp, Failed}

// Lost reports whether the verdict means that a page which probably exists was
// not obtained.
func (v Verdict) Lost() bool {
	switch v {
	case Refused, Unreachable, GivenUp, Failed:
		return true
	}
	return false
}

// VerdictOf returns the verdict on a page by the status of the answer alone.
func VerdictOf(status int) Verdict {
	switch {
	case status >= 200 && status <= 299:
		return Fetched
	case status >= 300 && status <= 399:
		return Moved
	case status == http.StatusNotFound, status == http.StatusGone:
		return NotFound
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return PutOff
	case status >= 400 && status <= 499:
		return Refused
	}
	return Failed
}

// MaxTries is the maximum number of requests for a page whose server answers
// 429 or 503.
const MaxTries = 4

// A Record is one thing that happened in a crawl. It is one line of the output,
// as text or as JSON.
type Record struct {
	Seconds   float64 `json:"seconds"` // how long the crawl had run, in seconds
	Verdict   Verdict `json:"verdict"`
	URL       string  `json:"url"`
	Host      string  `json:"host"`           // the host by which the URL is paced
	From      string  `json:"from,omitempty"` // the page on which the URL was found
	Status    int     `json:"status,omitempty"`
	Waited    float64 `json:"waited,omitempty"`     // seconds that the request waited for the host's pace
	Location  string  `json:"location,omitempty"`   // where the redirect leads, if Moved
	NoIndex   bool    `json:"noindex,omitempty"`    // by a robots meta or X-Robots-Tag
	NoFollow  bool    `json:"nofollow,omitempty"`   // by a robots meta or X-Robots-Tag
	Links     int     `json:"links,omitempty"`      // how many links on the page were new and were queued
	LinksLeft int     `json:"links_left,omitempty"` // how many links were not followed because the page or link says nofollow
	Tries     int     `json:"tries,omitempty"`      // how often the page was requested, if PutOff or GivenUp
	Again     float64 `json:"again,omitempty"`      // seconds until the next try, if PutOff
	Redirects int     `json:"redirects,omitempty"`  // how many redirects were followed, if RobotsTxt
	Error     string  `json:"error,omitempty"`

	// Refusal says who refused and why, if the answer shows it: a wall's
	// challenge or a price, for example. A rate limit is not recorded here,
	// because the status says it all. If the refusal is not sure, it does not
	// change the verdict.
	Refusal *refusal.Refusal `json:"refusal,omitempty"`

	// Requests are the requests that were sent. There may be none. There are
	// several if net/http sent a request again, or if a robots.txt redirected.
	Requests []Request `json:"requests,omitempty"`

	// PausedUntil is when the host may be asked again, in seconds since the
	// crawl began. It is set if this answer, such as a 429 or 503, made the
	// crawl leave the host alone.
	PausedUntil float64 `json:"paused_until,omitempty"`

	Said // of a page that was fetched or moved

	// Decision is what robots.txt says, with the rule and its line. It is nil
	// if nothing was decided.
	Decision *robotsmw.Decision `json:"decision,omitempty"`
}

// A Request is one request that was sent.
type Request struct {
	URL      string  `json:"url,omitempty"`    // only if the record is of a robots.txt; otherwise see Record.URL
	Host     string  `json:"host,omitempty"`   // only if the record is of a robots.txt; otherwise see Record.Host
	At       float64 `json:"at"`               // when the request started, in seconds since the crawl began
	Took     float64 `json:"took"`             // seconds until the answer began
	Status   int     `json:"status,omitempty"` // of the answer; 0: there was no answer
	Interval float64 `json:"interval"`         // seconds that the host is owed from At on
	Asked    string  `json:"asked,omitempty"`  // in words, the signature that the answer asks for
}

// Brief returns the record as the summary lists it, without the evidence, which
// was printed with the record itself.
func (r Record) Brief() Record {
	r.Decision, r.Said, r.Requests = nil, Said{}, nil
	return r
}

// A Summary is the outcome of a crawl.
type Summary struct {
	Seconds     float64       `json:"seconds"`
	Stopped     string        `json:"stopped,omitempty"` // why the crawl stopped early: "interrupted", "max-pages", "max-time", "failed"
	Fetched     int           `json:"fetched"`
	Moved       int           `json:"moved"`
	NotFound    int           `json:"not_found"`
	Refused     int           `json:"refused"`
	Blocked     int           `json:"blocked"`
	Unreachable int           `json:"unreachable"`
	GivenUp     int           `json:"given_up"`
	Failed      int           `json:"failed"`
	Statuses    map[int]int   `json:"statuses"`            // how many pages were answered with each status
	Left        int           `json:"left"`                // how many URLs are still queued
	Elsewhere   int           `json:"elsewhere,omitempty"` // how many URLs earlier runs and other processes of this crawl finished
	NoIndex     int           `json:"noindex"`
	NoFollow    int           `json:"nofollow"`
	Hosts       []HostSummary `json:"hosts"`              // sorted by name
	Lost        []Record      `json:"lost"`               // the Refused, Unreachable, GivenUp and Failed
	NotToKeep   []Record      `json:"not_to_keep"`        // fetched pages with noindex
	Doubtful    []Record      `json:"doubtful,omitempty"` // fetched pages with the marks of a refusal
	Uses        []UseSummary  `json:"uses,omitempty"`     // only uses about which some page says something

	// Drafts names the draft that defines a signal. It has each signal that was
	// seen and may still change.
	Drafts map[preference.Signal]string `json:"drafts,omitempty"`
}

// A UseSummary counts the pages that allow a use, and those that deny it.
type UseSummary struct {
	Use   preference.Use `json:"use"`
	Allow int            `json:"allow"`
	Deny  int            `json:"deny"`
}

// A HostSummary is the outcome of a crawl at one host.
type HostSummary struct {
	Host      string  `json:"host"`
	Requests  int     `json:"requests"` // to the host, those for robots.txt and repeated ones included
	Interval  float64 `json:"interval"` // seconds that the host is owed between two pages
	Fetched   int     `json:"fetched"`
	Moved     int     `json:"moved"`
	NotFound  int     `json:"not_found"`
	Blocked   int     `json:"blocked"`
	Lost      int     `json:"lost"`
	Paused    float64 `json:"paused,omitempty"`  // seconds that the host was left alone because of its answers
	Closest   float64 `json:"closest,omitempty"` // the least time between the starts of two pages, in seconds
	Addresses int     `json:"addresses"`         // how many origins of the host were asked for robots.txt, but at least 1
	RobotsTxt string  `json:"robots_txt"`        // how robots.txt answered, with the address if the host has several
}

// Count returns how many URLs have the verdict v.
func (s Summary) Count(v Verdict) int {
	return *s.counter(v)
}

// Add counts a URL with the verdict v. Verdicts that are not about pages are
// not counted.
func (s *Summary) Add(v Verdict) { *s.counter(v)++ }

func (s *Summary) counter(v Verdict) *int {
	switch v {
	case Fetched:
		return &s.Fetched
	case Moved:
		return &s.Moved
	case NotFound:
		return &s.NotFound
	case Refused:
		return &s.Refused
	case Blocked:
		return &s.Blocked
	case Unreachable:
		return &s.Unreachable
	case GivenUp:
		return &s.GivenUp
	case Failed:
		return &s.Failed
	}
	return new(int)
}
