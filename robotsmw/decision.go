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

// A Decision is the result of a check: whether a URL may be fetched, and why.
// String returns it as a sentence. Its JSON form includes the hash of the
// robots.txt in force, so that a log of decisions proves which file was obeyed,
// and when.
type Decision struct {
	URL     *url.URL // the URL that was checked: the caller's own, not a copy
	Allowed bool
	Reason  Reason
	Time    time.Time // when the decision was made

	// The rule that decided, if Reason is ByRule.
	Kind robotstxt.Kind // Allow or Disallow
	Rule string         // the rule's pattern, verbatim
	Line int            // the rule's line in robots.txt, counted from 1

	// Resolved is the form of path and query that the rules disallow, if they
	// allow the form in the URL. It has no dot segments and no empty segments,
	// such as "/private/" for "/x/%2e%2e/private/" or "//private/". "" means
	// that the form in the URL was decisive.
	Resolved string

	// Group has the user-agent lines of the group that the decision follows, or
	// nil if the file has no group for this crawler. The slice is shared and
	// must not be changed.
	Group []robotstxt.UserAgent

	// CrawlDelay is the group's Crawl-delay, or 0 if there is none.
	CrawlDelay time.Duration

	// RobotsURL is the URL of the origin's robots.txt. It is "" if robots.txt
	// does not apply to the URL, if the origin has an override, or if the URL
	// is robots.txt itself.
	RobotsURL string

	// Status is the status of the robots.txt response that the decision follows
	// from, or 0 if there is none. Fetched is when this response was received
	// or last confirmed. Expires is when its lifetime ends. If Reason is
	// Unreachable, Fetched is zero and Expires is NextTry.
	Status  int
	Fetched time.Time
	Expires time.Time
	Stale   bool // whether the robots.txt is past its lifetime and cannot be fetched now

	// Cause, FailedSince and NextTry are set only while robots.txt cannot be
	// fetched. Cause is the text of the last error, printable and at most 300
	// bytes long, such as "no such host" or "status 503 Service Unavailable".
	// FailedSince is when fetches began to fail. NextTry is when robots.txt may
	// be fetched again: the first request after that time fetches it. For the
	// error itself, see DisallowedError.
	Cause       string
	FailedSince time.Time
	NextTry     time.Time

	doc *record.Document
	err error // what DisallowedError.Unwrap returns
}

// A Reason is what a Decision is based on. Its text is in lower case, with
// hyphens.
//
// # Responses to a request for robots.txt
//
// RFC 9309 §2.3.1 distinguishes three outcomes:
//
//   - Successful (2xx): the rules of the file are obeyed, whatever its
//     Content-Type.
//   - Unavailable (4xx except 407, 429 and 430; more than five redirects; a
//     redirect without a usable target): there are no rules, and everything is
//     allowed.
//     With Options.DisallowForbidden, a 401 or 403 disallows everything.
//   - Unreachable (407, 429, 430, 5xx, any other status, a network failure, a
//     truncated or undecodable body, a response of bot protection, a response
//     in which a proxy reports an error by Proxy-Status or X-Squid-Error):
//     everything is disallowed until the file can be fetched. If there is an
//     earlier good copy, the copy is obeyed instead.
//
// An unreachable robots.txt is fetched again by the first request after
// Decision.NextTry. That is after the Retry-After of the response (up to 24
// hours), or else 1 minute after the first failure, then 2, 4 and so on, up to
// 1 hour. See also Options.AllowAfter30Days.
//
// A good copy whose lifetime is over is obeyed, and marked Decision.Stale,
// while robots.txt is unreachable, and while a fetch would have to wait for its
// host for more than ten seconds. In the second case, it is fetched when the
// host is due.
//
// # Bot protection
//
// Bot protection may respond instead of the site, with any status: with a
// challenge, a block, a price or a demand for a license. Package
// politeness/refusal recognizes such responses. A 202 with an HTML page, and a
// 206, are not the site's robots.txt either. If only marks in a page indicate
// bot protection, a 404 or 410 still counts as unavailable. A 451 is like any
// other 4xx. An HTML page with status 200 that has no sign of bot protection is
// read like any robots.txt.
//
// # Limits
//
// A response may have one content coding, and may be 4 MiB long before it is
// decoded. An unknown coding, such as utf-8, is ignored if the text is plain. A
// redirect to a URL of more than 8 KiB has no usable target.
type Reason string

// The reasons. ByRule, NoMatch, EmptyGroup, NoGroup and TooMuchWork follow from
// the text of a robots.txt.
const (
	NotApplicable Reason = "not-applicable" // the scheme is not http, https or ftp: allowed
	ByRule        Reason = "rule"           // the longest matching rule decided: see Decision.Kind (RFC 9309 §2.2.2)
	NoMatch       Reason = "no-match"       // no rule of the crawler's group matches: allowed
	EmptyGroup    Reason = "empty-group"    // the crawler's group has no rule that can match: allowed
	NoGroup       Reason = "no-group"       // there is no group for the crawler or "*": allowed (RFC 9309 §2.2.1)
	IsRobotsTxt   Reason = "robots-txt"     // the URL is /robots.txt itself: allowed (RFC 9309 §2.2.2)
	TooMuchWork   Reason = "too-much-work"  // matching the URL with the group would take too much work: disallowed
	Unavailable   Reason = "unavailable"    // there is no robots.txt, as after a 404: allowed (RFC 9309 §2.3.1.3)
	Forbidden     Reason = "forbidden"      // robots.txt has status 401 or 403, with Options.DisallowForbidden: disallowed

	// Unreachable: robots.txt cannot be fetched now, for example because of a
	// 429 or 5xx, a response of bot protection, a network failure, or an error
	// of Options.RefuseAddress. The URL is disallowed (RFC 9309 §2.3.1.4), or
	// allowed by Options.AllowAfter30Days.
	Unreachable Reason = "unreachable"
)

// determinesCrawlDelay reports whether a decision with this reason determines
// the Crawl-delay, including that there is none.
func (r Reason) determinesCrawlDelay() bool {
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

// String returns the decision as a sentence on one line, such as (broken here)
//
//	disallowed: https://example.com/a
//	(rule "Disallow: /a", line 3 of https://example.com/robots.txt)
//
// A URL of more than 700 bytes, and a path or a rule of more than 300 bytes, is
// cut and ends in "...".
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

// printable returns text with each unprintable character replaced by U+FFFD. A
// rule or a cause contains text from a server, which must not control the
// terminal on which it is printed.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// cut returns text unchanged if its length in bytes is at most the limit most.
// Otherwise, it cuts text at the limit and appends "...".
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// why returns the reason of the decision and the evidence for it. in is the
// name of the robots.txt to use in the text; "" means that the origin has an
// override.
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
		s = fmt.Sprintf("no robots.txt: %s returned status %d", in, d.Status)
	case Forbidden:
		s = fmt.Sprintf("%s returned status %d, which counts as a disallow", in, d.Status)
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

// failure describes why robots.txt is unreachable, or that its address was
// refused, and when the next try is due. In the first case, hint follows the
// cause. In the second case, hint is not used.
func (d *Decision) failure(hint string) string {
	next := d.NextTry.UTC().Format(time.RFC3339)
	if errors.Is(d.err, address.ErrRefused) {
		return "was not fetched: " + d.Cause + "; the address is looked up again after " + next
	}
	return "is unreachable: " + d.Cause + hint + "; next try at " + next
}

// MarshalJSON returns the decision as a JSON object, which always has the
// members url, allowed and reason. The other members are left out if they are
// empty: rule, line, resolved, group, crawl_delay_seconds, robots_url, status,
// fetched, expires, stale, cause, failed_since, next_try, sha256. A rule, a
// path or a user agent of more than 2,000 bytes is cut and ends in "...". A
// group of more than 100 user agents is cut and ends in "..." too. Characters
// that are not printable are escaped, even where JSON does not require it.
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

// escaped returns the JSON text with its unprintable characters escaped, such
// as control characters beyond ASCII and characters that change the direction
// of writing. A rule contains text from a server, which must not control the
// terminal on which a log is printed.
func escaped(text []byte) []byte {
	isOdd := func(r rune) bool { return !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, isOdd) < 0 {
		return text // the usual case
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
