package robotsmw

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/internal/address"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Decision is whether a URL may be fetched, and why. String returns a
// sentence for people. As JSON, a decision has the hash of the robots.txt in
// force. So a log of decisions proves which file was obeyed, and when.
type Decision struct {
	URL     *url.URL // the URL that was checked: the caller's own, not a copy
	Allowed bool
	Reason  Reason
	Time    time.Time // when the decision was made

	// The rule that decided, if Reason is ByRule.
	Kind robotstxt.Kind // Allow or Disallow
	Rule string         // the rule's pattern as written
	Line int            // the rule's line in robots.txt, counted from 1

	// Resolved is set if the rules allow path and query as they are written,
	// but disallow another form of them. Resolved is this other form, such as
	// "/private/" for "/x/%2e%2e/private/" or "//private/". It has no dot
	// segments and no empty segments. "" means that the URL was decided as it
	// is written.
	Resolved string

	// Group has the user-agent lines of the group that the decision follows, if
	// the file has a group for this crawler. The slice is shared: do not change
	// it.
	Group []robotstxt.UserAgent

	// CrawlDelay is the group's Crawl-delay, or 0 if there is none.
	CrawlDelay time.Duration

	// RobotsURL is the URL of the origin's robots.txt. It is "" if robots.txt
	// does not apply to the URL, if the origin has an override, or if the URL
	// is robots.txt itself.
	RobotsURL string

	// Status is the status of the robots.txt response that the decision follows
	// from, or 0 if there is none. Fetched is when this response came or was
	// last confirmed. Expires is when the response's lifetime ends. If Reason
	// is Unreachable, Fetched is zero and Expires is NextTry.
	Status  int
	Fetched time.Time
	Expires time.Time
	Stale   bool // whether the robots.txt is past its lifetime and cannot be fetched now

	// Cause, FailedSince and NextTry are set only while robots.txt cannot be
	// fetched. Cause is the text of the last error, printable and at most 300
	// bytes long, such as "no such host" or "status 503 Service Unavailable".
	// FailedSince is when fetches began to fail. NextTry is when the next fetch
	// may be tried. For the error itself, see DisallowedError.
	Cause       string
	FailedSince time.Time
	NextTry     time.Time

	doc *record.Document
	err error // what DisallowedError.Unwrap returns
}

// A Reason is what a Decision is based on, in lower case, with hyphens.
//
// # What an answer to robots.txt means
//
// RFC 9309 §2.3.1 distinguishes three outcomes, and so does Decision.Reason:
//
//   - Successful (2xx): the file's rules are obeyed, whatever its type.
//   - Unavailable (4xx except 429 and 430; more than five redirects, or a
//     redirect that leads nowhere): there are no rules; all is allowed. With
//     Options.DisallowForbidden, a 401 or 403 disallows all, as the draft of
//     1996 advises.
//   - Unreachable (429, Shopify's 430, 5xx and any status not named above,
//     network failure, a truncated or undecodable body, a wall's answer): all
//     is disallowed until the file can be fetched. If there is an earlier good
//     copy, the copy is obeyed instead. After its lifetime, the copy is marked
//     Decision.Stale. The next try is after Retry-After (up to 24 hours), or
//     else after 1 minute, doubling up to 1 hour. With
//     Options.AllowAfter30Days, an origin that has been unreachable for 30
//     days, without a good copy, allows all.
//
// A good copy is also obeyed past its lifetime if a fetch would have to wait
// for its slot for more than ten seconds. Then the copy is used at once and
// marked stale, and robots.txt is fetched later, when the host's pace allows
// it. If the fetch would wait for less than that, for example until an interval
// is over, the request waits for the new file.
//
// A wall is a service that answers in the site's place: with a challenge, a
// block, a price or a demand for a licence, whatever the status. Package
// politeness/refusal knows the signs of walls. Two more answers are not the
// site's robots.txt. One is a 202 with an HTML page. The other is a 206,
// because no range was asked for. But a 451 is a 4xx like the others, and a
// guess from a page's marks does not outweigh a 404 or 410. An HTML page with
// status 200 and no sign of a wall is read like any robots.txt. It has no
// rules, unless some of its lines look like rules.
//
// An answer may have one content coding and be up to 4 MiB long before
// decoding. A name that is no coding, such as utf-8 or none, is ignored before
// plain text. Decoding must end within Options.RobotsTimeout. Decision.Cause
// keeps 300 bytes of what went wrong. A redirect to a URL of more than 8 KiB
// leads nowhere.
//
// A *DisallowedError has one of three reasons. errors.Is(err, ErrDisallowed)
// means that robots.txt or an option forbids the URL. errors.Is(err,
// ErrUnreachable) means that the rules are not known now. errors.Is(err,
// ErrAddressRefused) means that the rules are not known because
// Options.RefuseAddress refused the address.
type Reason string

// The reasons. ByRule, NoMatch, EmptyGroup, NoGroup and TooMuchWork follow from
// the text of a robots.txt.
const (
	NotApplicable Reason = "not-applicable" // the scheme is not http, https or ftp: allowed
	ByRule        Reason = "rule"           // the longest matching rule decided: see Decision.Kind (RFC 9309 §2.2.2)
	NoMatch       Reason = "no-match"       // no rule of the crawler's group matches: allowed
	EmptyGroup    Reason = "empty-group"    // the crawler's group has no rule that can match: allowed
	NoGroup       Reason = "no-group"       // no group names the crawler or "*": allowed (RFC 9309 §2.2.1)
	IsRobotsTxt   Reason = "robots-txt"     // the URL is /robots.txt itself: allowed (RFC 9309 §2.2.2)
	TooMuchWork   Reason = "too-much-work"  // matching the URL with the group would take too much work: disallowed
	Unavailable   Reason = "unavailable"    // there is no robots.txt, as after a 404: allowed (RFC 9309 §2.3.1.3)
	Forbidden     Reason = "forbidden"      // robots.txt answers 401 or 403, with Options.DisallowForbidden: disallowed

	// Unreachable: robots.txt cannot be fetched now. For example, the server
	// answers 429 or 5xx, a wall answers in its place, the network fails, or
	// Options.RefuseAddress refuses the address. The URL is disallowed (RFC
	// 9309 §2.3.1.4), or allowed by Options.AllowAfter30Days.
	Unreachable Reason = "unreachable"
)

// knowsGroup reports whether a decision with this reason says what the
// Crawl-delay is, or that there is none.
func (r Reason) knowsGroup() bool {
	switch r {
	case NotApplicable, IsRobotsTxt, Unreachable:
		return false
	}
	return true
}

// String returns the reason as a string, such as "no-match".
func (r Reason) String() string { return string(r) }

// fromMatch maps each robotstxt.Reason to a Reason.
var fromMatch = [...]Reason{
	robotstxt.NoGroup:     NoGroup,
	robotstxt.EmptyGroup:  EmptyGroup,
	robotstxt.NoMatch:     NoMatch,
	robotstxt.ByRule:      ByRule,
	robotstxt.IsRobotsTxt: IsRobotsTxt,
	robotstxt.TooMuchWork: TooMuchWork,
}

// SHA256 returns the hash of the robots.txt in force, in lower-case hex. It
// returns "" if there is no file. The hash of a file longer than 500 KiB covers
// its first 512,001 bytes, because no more are read. The last of these bytes
// only shows that the file is longer.
func (d Decision) SHA256() string {
	if d.doc == nil {
		return ""
	}
	return hex.EncodeToString(d.doc.Hash[:])
}

// File returns the robots.txt in force, with all its lines, not only the rules.
// It returns nil if there is no file, or if Options.KeepFiles is not set.
func (d Decision) File() *robotstxt.File {
	if d.doc == nil {
		return nil
	}
	return d.doc.File
}

// String returns the decision as a sentence, in one line, such as
//
//	disallowed: https://example.com/a
//	(rule "Disallow: /a", line 3 of https://example.com/robots.txt)
//
// A URL of more than 700 bytes is cut. So is a path or a rule of more than 300
// bytes.
func (d Decision) String() string {
	var b strings.Builder
	if d.Allowed {
		b.WriteString("allowed: ")
	} else {
		b.WriteString("disallowed: ")
	}
	if d.URL != nil {
		b.WriteString(cut(d.URL.Redacted(), 700))
		b.WriteByte(' ')
	}
	b.WriteByte('(')
	b.WriteString(d.why(d.RobotsURL))
	b.WriteByte(')')
	return printable(b.String())
}

// printable replaces the characters of a text that are not printable. A rule or
// a cause is text from strangers, and must not control a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// cut returns a text as it is, or only its beginning and "..." if the text has
// more than most bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// why returns the reason of the decision and the evidence for it. It calls the
// robots.txt in, which is "" if the origin has an override.
func (d Decision) why(in string) string {
	if in == "" {
		in = "the robots.txt set for this origin"
	}
	var s string
	switch d.Reason {
	case NotApplicable:
		return "robots.txt does not apply to this scheme"
	case ByRule:
		s = fmt.Sprintf("rule \"%v: %s\", line %d of %s", d.Kind, cut(d.Rule, 300), d.Line, in)
	case NoMatch:
		s = "no rule matches in " + in
	case EmptyGroup:
		s = "the group has no rules in " + in
	case NoGroup:
		s = "no group for this crawler in " + in
	case IsRobotsTxt:
		return "robots.txt itself"
	case TooMuchWork:
		s = "too much work to match with the rules of " + in
	case Unavailable:
		s = fmt.Sprintf("no robots.txt: %s answered %d", in, d.Status)
	case Forbidden:
		s = fmt.Sprintf("%s answered %d, which counts as a disallow", in, d.Status)
	case Unreachable:
		s = in + " " + d.failure("")
	}
	if d.Resolved != "" {
		s += ", as " + cut(d.Resolved, 300)
	}
	if d.Stale {
		s += ", a stale copy: " + d.Cause
	}
	return s
}

// failure returns what is wrong with a robots.txt that is unreachable or whose
// address was refused, the hint, and when the next try is.
func (d *Decision) failure(hint string) string {
	next := d.NextTry.UTC().Format(time.RFC3339)
	if errors.Is(d.err, address.ErrRefused) {
		return "was not fetched: " + d.Cause + "; the address is looked up again after " + next
	}
	return "is unreachable: " + d.Cause + hint + "; next try at " + next
}

// MarshalJSON writes the decision as one object. It always has the members url,
// allowed and reason. The other members are left out if they are empty:
// rule, line, resolved, group, crawl_delay_seconds, robots_url,
// status, fetched, expires, stale, cause, failed_since, next_try, sha256. A
// rule, a path or a user agent of more than 2,000 bytes is cut and ends in
// "...". A group of more than 100 user agents is cut and ends in "..." too.
// Characters that are not printable are escaped, even where JSON does not
// require it.
func (d Decision) MarshalJSON() ([]byte, error) {
	v := struct {
		URL         string    `json:"url"`
		Allowed     bool      `json:"allowed"`
		Reason      Reason    `json:"reason"`
		Rule        string    `json:"rule,omitempty"`
		Line        int       `json:"line,omitzero"`
		Resolved    string    `json:"resolved,omitempty"`
		Group       []string  `json:"group,omitempty"`
		CrawlDelay  float64   `json:"crawl_delay_seconds,omitzero"`
		RobotsURL   string    `json:"robots_url,omitempty"`
		Status      int       `json:"status,omitzero"`
		Fetched     time.Time `json:"fetched,omitzero"`
		Expires     time.Time `json:"expires,omitzero"`
		Stale       bool      `json:"stale,omitzero"`
		Cause       string    `json:"cause,omitempty"`
		FailedSince time.Time `json:"failed_since,omitzero"`
		NextTry     time.Time `json:"next_try,omitzero"`
		SHA256      string    `json:"sha256,omitempty"`
	}{
		Allowed: d.Allowed, Reason: d.Reason, Line: d.Line, Resolved: cut(d.Resolved, 2000),
		CrawlDelay: d.CrawlDelay.Seconds(), RobotsURL: d.RobotsURL, Status: d.Status,
		Fetched: d.Fetched.UTC(), Expires: d.Expires.UTC(), Stale: d.Stale,
		Cause: d.Cause, FailedSince: d.FailedSince.UTC(), NextTry: d.NextTry.UTC(), SHA256: d.SHA256(),
	}
	if d.URL != nil {
		v.URL = d.URL.Redacted()
	}
	if d.Reason == ByRule {
		v.Rule = fmt.Sprintf("%v: %s", d.Kind, cut(d.Rule, 2000))
	}
	for i, a := range d.Group {
		if i == 100 {
			v.Group = append(v.Group, "...")
			break
		}
		v.Group = append(v.Group, cut(a.Value, 2000))
	}
	text, err := json.Marshal(v)
	return escaped(text), err
}

// escaped returns the JSON text with its unprintable characters escaped. Among
// them are control characters beyond ASCII, and characters that change the
// direction of writing. A rule is text from strangers, and people read logs on
// terminals.
func escaped(text []byte) []byte {
	isOdd := func(r rune) bool { return !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, isOdd) < 0 {
		return text // nearly always, there is nothing to escape
	}
	var b []byte
	for _, r := range string(text) {
		switch {
		case !isOdd(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}
