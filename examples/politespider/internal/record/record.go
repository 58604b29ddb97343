// Package record defines what a crawl reports: a [Record] for each event and a
// [Summary] at the end. The spider prints them as text or as JSON.
package record

import (
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// A Verdict is the outcome of a URL.
type Verdict string

const (
	Fetched     Verdict = "fetched"     // the server sent the page: 2xx
	Unchanged   Verdict = "unchanged"   // 304: the page has not changed since an earlier crawl
	Moved       Verdict = "moved"       // the server redirected: 3xx; the target is queued as a new URL
	NotFound    Verdict = "not found"   // there is no such page: 404 or 410
	Refused     Verdict = "refused"     // another 4xx except 429, or a 2xx or 3xx that is surely a refusal
	Disallowed  Verdict = "disallowed"  // a rule of robots.txt forbids the URL; no request was sent
	Unreachable Verdict = "unreachable" // robots.txt could not be fetched, so everything is disallowed
	PutOff      Verdict = "put off"     // 429 or 503: the page goes back into the queue
	GivenUp     Verdict = "given up"    // 429 or 503 too often
	Failed      Verdict = "failed"      // no response, a truncated one, or another status, such as 500

	// The next two verdicts are not on pages.
	RobotsTxt Verdict = "robots.txt" // a robots.txt was fetched
	Checked   Verdict = "checked"    // a page was requested again, only to check its server
)

// Verdicts lists the final verdicts on pages, in the order of the summary.
var Verdicts = []Verdict{Fetched, Unchanged, Moved, NotFound, Refused, Disallowed, Unreachable, GivenUp, Failed}

// kinds contains the properties of each verdict that the outputs use.
var kinds = map[Verdict]struct {
	letter byte   // stands for the verdict in the report
	color  string // on a terminal
	lost   bool
	count  func(*Summary) *int // the count of URLs with this final verdict; nil if the verdict is not final
}{
	Fetched:     {'f', green, false, func(s *Summary) *int { return &s.Fetched }},
	Unchanged:   {'e', green, false, func(s *Summary) *int { return &s.Unchanged }},
	Moved:       {'m', green, false, func(s *Summary) *int { return &s.Moved }},
	NotFound:    {'n', yellow, false, func(s *Summary) *int { return &s.NotFound }},
	Refused:     {'d', red, true, func(s *Summary) *int { return &s.Refused }},
	Disallowed:  {'b', yellow, false, func(s *Summary) *int { return &s.Disallowed }},
	Unreachable: {'u', red, true, func(s *Summary) *int { return &s.Unreachable }},
	PutOff:      {'p', cyan, false, nil},
	GivenUp:     {'g', red, true, func(s *Summary) *int { return &s.GivenUp }},
	Failed:      {'x', red, true, func(s *Summary) *int { return &s.Failed }},
	RobotsTxt:   {'r', dim, false, nil},
	Checked:     {'c', dim, false, nil},
}

// These are codes of styles on a terminal (ECMA-48, SGR).
const (
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// Letter returns the letter that stands for the verdict in the report.
func (v Verdict) Letter() byte { return kinds[v].letter }

// Color returns the code of the verdict's color on a terminal.
func (v Verdict) Color() string { return kinds[v].color }

// Lost reports whether v means that the crawl failed to fetch a page that
// probably exists.
func (v Verdict) Lost() bool { return kinds[v].lost }

// StatusVerdict returns the verdict on a response with this status. It does not
// consider bot protection.
func StatusVerdict(status int) Verdict {
	switch {
	case status >= 200 && status <= 299:
		return Fetched
	case status == http.StatusNotModified:
		return Unchanged
	case status >= 300 && status <= 399:
		return Moved
	case status == http.StatusNotFound, status == http.StatusGone:
		return NotFound
	case httpstatus.IsThrottled(status), httpstatus.IsOverloaded(status):
		return PutOff
	case status >= 400 && status <= 499:
		return Refused
	}
	return Failed
}

// MaxTries is the maximum number of requests for a page whose server responds
// with 429 or 503.
const MaxTries = 4

// A Record is one event of a crawl: the outcome of a page, or of the fetch of a
// robots.txt. The JSON output has one line for each Record.
type Record struct {
	Seconds   float64 `json:"seconds"` // seconds since the run began
	Verdict   Verdict `json:"verdict"`
	URL       string  `json:"url"`
	Host      string  `json:"host"`           // the host whose pace applies to the URL
	From      string  `json:"from,omitempty"` // the page on which the URL was found
	Status    int     `json:"status,omitempty"`
	Waited    float64 `json:"waited,omitempty"`     // seconds that the request waited for the host's pace
	Location  string  `json:"location,omitempty"`   // the target of the redirect, if the Verdict is Moved
	NoIndex   bool    `json:"noindex,omitempty"`    // a robots meta element or X-Robots-Tag has noindex
	NoFollow  bool    `json:"nofollow,omitempty"`   // a robots meta element or X-Robots-Tag has nofollow
	Links     int     `json:"links,omitempty"`      // number of new links that were queued
	LinksLeft int     `json:"links_left,omitempty"` // number of links omitted because of nofollow
	Tries     int     `json:"tries,omitempty"`      // number of requests, if the Verdict is PutOff or GivenUp
	RetryIn   float64 `json:"again,omitempty"`      // seconds until the next try, if the Verdict is PutOff
	For       string  `json:"for,omitempty"`        // the page that was put off, if the Verdict is Checked
	Redirects int     `json:"redirects,omitempty"`  // number of redirects followed, if the Verdict is RobotsTxt
	Error     string  `json:"error,omitempty"`

	// Refusal is the bot protection that responded instead of the page, with
	// the evidence. It is nil if the response is not from bot protection, or is
	// only a rate limit. If Refusal.Sure is false, the verdict is not affected.
	Refusal *refusal.Refusal `json:"refusal,omitempty"`

	// Requests are the requests that were sent, if any. There are several if
	// net/http repeated a request, or if a robots.txt redirected.
	Requests []Request `json:"requests,omitempty"`

	// PausedUntil is when the pause of the host ends, in seconds since the run
	// began. It is 0 if this response, such as a 429 or 503, did not pause the
	// host.
	PausedUntil float64 `json:"paused_until,omitempty"`

	PageInfo // set only if the Verdict is Fetched or Moved

	// Decision is the decision of robots.txt, with the rule and its line. It is
	// nil if robots.txt was not consulted.
	Decision *robotsmw.Decision `json:"decision,omitempty"`
}

// A Request is one request that was sent.
type Request struct {
	URL      string  `json:"url,omitempty"`    // set if the Verdict is RobotsTxt; otherwise see Record.URL
	Host     string  `json:"host,omitempty"`   // set if the Verdict is RobotsTxt; otherwise see Record.Host
	At       float64 `json:"at"`               // when the request started, in seconds since the run began
	Took     float64 `json:"took"`             // seconds until the response began
	Status   int     `json:"status,omitempty"` // the status of the response; 0 if there was no response
	Interval float64 `json:"interval"`         // minimum seconds from At to the next request to the host

	// RequestedSignature describes the signature that the response requests. It
	// is "" if the response requests none.
	RequestedSignature string `json:"asked,omitempty"`
}

// Brief returns the record as the lists of the summary contain it: without
// Decision, PageInfo and Requests. A long Location or Error is truncated,
// because a server can send megabytes.
func (r Record) Brief() Record {
	r.Decision = nil
	r.PageInfo = PageInfo{}
	r.Requests = nil
	r.Location = truncate(r.Location)
	r.Error = truncate(r.Error)
	return r
}

// truncate returns a copy of the text, or of its first 2 KiB followed by "…".
func truncate(text string) string {
	const maxBytes = 2 << 10
	if len(text) <= maxBytes {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:maxBytes], "") + "…"
}

// A Summary is the outcome of a crawl.
type Summary struct {
	Seconds float64 `json:"seconds"`        // summed over all runs of the crawl that are known
	Runs    int     `json:"runs,omitempty"` // number of runs of the crawl; omitted if no other run is known

	// Stopped is why the crawl stopped early: "interrupted", "max-pages",
	// "max-refused", "max-time" or "failed". It is "" if it did not stop early.
	Stopped string `json:"stopped,omitempty"`

	Fetched     int         `json:"fetched"`
	Unchanged   int         `json:"unchanged,omitempty"` // only with -revisit
	Moved       int         `json:"moved"`
	NotFound    int         `json:"not_found"`
	Refused     int         `json:"refused"`
	Disallowed  int         `json:"disallowed"`
	Unreachable int         `json:"unreachable"`
	GivenUp     int         `json:"given_up"`
	Failed      int         `json:"failed"`
	Statuses    map[int]int `json:"statuses"`        // number of responses to requests for pages, by status
	Left        int         `json:"left"`            // number of URLs in the queue, including those of Ended
	Ended       []EndedHost `json:"ended,omitempty"` // hosts whose crawl has stopped at -max-refused, by name

	// Elsewhere is the number of other URLs that other processes of the crawl,
	// and runs that are not known, have finished.
	Elsewhere int `json:"elsewhere,omitempty"`

	NoIndex   int           `json:"noindex"`
	NoFollow  int           `json:"nofollow"`
	Hosts     []HostSummary `json:"hosts"`              // sorted by name
	Lost      []Record      `json:"lost"`               // the Records of lost pages: see Verdict.Lost
	NotToKeep []Record      `json:"not_to_keep"`        // fetched and moved pages with noindex
	Doubtful  []Record      `json:"doubtful,omitempty"` // fetched pages that are perhaps refusals
	Uses      []UseSummary  `json:"uses,omitempty"`     // only uses that some page allows or denies

	// Drafts maps each signal that was seen to the draft that defines it.
	// Signals that no draft defines are not in the map.
	Drafts map[string]string `json:"drafts,omitempty"`
}

// An EndedHost is a host whose crawl has ended because the host has refused too
// many pages.
type EndedHost struct {
	Host string `json:"host"`
	Left int    `json:"left"` // how many URLs of the host are still queued; at least 1
}

// A UseSummary counts the pages that allow a use and the pages that deny it.
type UseSummary struct {
	Use   preference.Use `json:"use"`
	Allow int            `json:"allow"`
	Deny  int            `json:"deny"`
}

// A HostSummary is the outcome of a crawl at one host.
type HostSummary struct {
	Host     string `json:"host"`
	Requests int    `json:"requests"` // includes requests for robots.txt and repeated requests

	// Interval is the least number of seconds that must pass from one page to
	// the next. If the ports of the host differ, Interval is that of the port
	// with the shortest Crawl-delay, and LongestInterval that of the port with
	// the longest.
	Interval        float64 `json:"interval"`
	LongestInterval float64 `json:"longest_interval,omitempty"`

	Fetched    int     `json:"fetched"`
	Moved      int     `json:"moved"`
	NotFound   int     `json:"not_found"`
	Disallowed int     `json:"disallowed"`
	Lost       int     `json:"lost"`
	Paused     float64 `json:"paused,omitempty"`  // seconds that responses of the host paused it
	Closest    float64 `json:"closest,omitempty"` // shortest time between two pages, in seconds; 0 if fewer than two
	Addresses  int     `json:"addresses"`         // number of origins whose robots.txt was requested; 1 if none was
	RobotsTxt  string  `json:"robots_txt"`        // the outcome of fetching robots.txt, for each origin if there are several
}

// Count returns how many URLs have the verdict v. It returns 0 for PutOff,
// RobotsTxt and Checked.
func (s Summary) Count(v Verdict) int { return *s.count(v) }

// Add counts a URL with the verdict v. It ignores PutOff, RobotsTxt and
// Checked.
func (s *Summary) Add(v Verdict) { *s.count(v)++ }

func (s *Summary) count(v Verdict) *int {
	if count := kinds[v].count; count != nil {
		return count(s)
	}
	return new(int)
}
