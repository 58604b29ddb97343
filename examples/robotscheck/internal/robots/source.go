// Package robots is what the commands of robotscheck know about a robots.txt.
// It gets one from a file, from standard input or, as a crawler would, from a
// URL. It judges targets by it, finds reasons to doubt it, and reads the names
// of robots.
package robots

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A Source is a robots.txt from a file, or the robots.txt in force at a URL.
// There may be no file at the URL.
type Source struct {
	Name string          // the argument, or the URL of the robots.txt
	Text []byte          // empty if there is no file
	File *robotstxt.File // the text as RFC 9309 reads it

	// The others are set for a URL. Decision is the meaning of the last
	// response, and From is the URL of that response, after redirects. If there
	// is no file, Absent is the reason: Unavailable or Unreachable.
	Decision *robotsmw.Decision
	From     string
	Absent   robotsmw.Reason
}

// New returns the Source of a local file.
func New(name string, text []byte) *Source {
	return &Source{Name: name, Text: text, File: robotstxt.Parse(text)}
}

// Unreachable returns an error if robots.txt is unreachable. Its rules are then
// unknown.
func (s *Source) Unreachable() error {
	if s.Absent == robotsmw.Unreachable {
		return fmt.Errorf("%s is unreachable, so everything is disallowed for now: %s", s.Name, command.Printable(s.Decision.Cause))
	}
	return nil
}

// Doubt returns why the file is doubtful, or "" if it is not.
func (s *Source) Doubt() string { return Doubt(s.Text, s.Decision != nil) }

// Judge returns the verdict of a polite crawler on a target, by the rules for
// the robot. Such a crawler also judges the other names for the target (see
// [Verdict]).
func (s *Source) Judge(rules *robotstxt.Rules, target string) Verdict {
	if s.Absent != "" {
		return Verdict{Allowed: s.Absent == robotsmw.Unavailable, Reason: s.Absent}
	}
	return Judge(rules, target)
}

var notInURLs = regexp.MustCompile(`[^!-~]`)

// Sent returns a target in the form that it has in a request. Characters that a
// URL cannot contain become percent-escapes, for example "ä".
func Sent(target string) string { return notInURLs.ReplaceAllStringFunc(target, url.PathEscape) }

// CheckTarget returns an error unless the target is a path or a URL, and of the
// origin of the robots.txt: each scheme, host and port has a robots.txt of its
// own. A local file may be of any origin.
func (s *Source) CheckTarget(target string) error {
	if err := command.CheckScheme(target); err != nil {
		return err
	}
	switch isURL := command.IsURL(target); {
	case !isURL && !strings.HasPrefix(target, "/"):
		return command.Usagef("%q: must be a path that begins with \"/\", or an absolute URL", target)
	case !isURL, s.Decision == nil:
		return nil
	}
	u, err := command.ParseURL(target)
	if err != nil {
		return err
	}
	if origin(u) != origin(s.Decision.URL) {
		return command.Usagef("%s does not apply to %s, which has its own robots.txt", s.Name, target)
	}
	return nil
}

func origin(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// A Verdict is the decision of a robots.txt on one target. Its fields are part
// of the JSON of several commands.
type Verdict struct {
	Allowed bool            `json:"allowed"`
	Reason  robotsmw.Reason `json:"reason"`
	Rule    string          `json:"rule,omitempty"` // the rule that decided, such as "Disallow: /a"
	Line    int             `json:"line,omitempty"` // the number of the rule's line, counted from 1

	// Resolved is set if servers may treat the target like another path that is
	// disallowed (see robotsmw.Decision). Resolved is then the other path, with
	// the query. "" means that the target was judged as it is written.
	Resolved string `json:"resolved,omitempty"`
}

// reasons maps each reason of robotstxt to the same reason of robotsmw.
var reasons = [...]robotsmw.Reason{
	robotstxt.NoGroup:     robotsmw.NoGroup,
	robotstxt.EmptyGroup:  robotsmw.EmptyGroup,
	robotstxt.NoMatch:     robotsmw.NoMatch,
	robotstxt.ByRule:      robotsmw.ByRule,
	robotstxt.IsRobotsTxt: robotsmw.IsRobotsTxt,
	robotstxt.TooMuchWork: robotsmw.TooMuchWork,
}

// Judge returns the same verdict on a target as a robotsmw.Checker. If servers
// may treat an allowed target like another path that is disallowed, Judge
// returns the verdict on that path.
func Judge(rules *robotstxt.Rules, target string) Verdict {
	m, resolved := rules.MatchResolved(target)
	v := VerdictOf(m)
	v.Resolved = resolved
	return v
}

// VerdictOf turns the parser's answer about a target alone into a Verdict.
func VerdictOf(m robotstxt.Match) Verdict {
	v := Verdict{Allowed: m.Allowed, Reason: reasons[m.Reason], Line: m.Line}
	if m.Reason == robotstxt.ByRule {
		v.Rule = m.Kind.String() + ": " + m.Pattern
	}
	return v
}

// Word returns the verdict in one word.
func (v Verdict) Word() string {
	if v.Allowed {
		return "allowed"
	}
	return "disallowed"
}

// Status returns the exit status for a verdict. The doubt is the reason why the
// verdict is doubtful, or "".
func (v Verdict) Status(doubt string) command.Status {
	switch {
	case v.Reason == robotsmw.Unreachable:
		return command.CannotTell
	case doubt != "":
		return command.Doubtful
	case v.Allowed:
		return command.OK
	}
	return command.No
}

// words has each reason but ByRule in a few words.
var words = map[robotsmw.Reason]string{
	robotsmw.NoMatch:     "no rule of its group matches",
	robotsmw.EmptyGroup:  "its group has no rules",
	robotsmw.NoGroup:     "no group is for it",
	robotsmw.IsRobotsTxt: "robots.txt itself is always allowed",
	robotsmw.TooMuchWork: "the rules take too much work for one URL",
	robotsmw.Unavailable: "there is no robots.txt",
	robotsmw.Unreachable: "robots.txt cannot be had",
}

// Why returns the reason for the verdict in a few words.
func (v Verdict) Why() string {
	why := words[v.Reason]
	if v.Reason == robotsmw.ByRule {
		why = fmt.Sprintf("line %d: %s", v.Line, command.Printable(v.Rule))
	}
	if v.Resolved != "" {
		why += ", as " + command.Printable(v.Resolved)
	}
	return why
}

// A Doubtful is a doubtful robots.txt, with the reason. Commands that read
// several robots.txt files print the name, so that users know which file is
// meant.
type Doubtful struct {
	Source string `json:"source"`
	Doubt  string `json:"doubt"`
}

func (d Doubtful) String() string {
	return "doubtful: " + command.Printable(d.Source) + ": " + command.Printable(d.Doubt)
}

// Print prints the String as a line.
func (d Doubtful) Print(w io.Writer) { fmt.Fprintln(w, d) }

// Doubt returns a sentence with the reason why verdicts by a robots.txt are
// doubtful, or "" if they are not. The file may be longer than the 500 KiB that
// robots read, or not meant for robots at all. If nothing is wrong, the check
// is fast. isFetched reports whether only the beginning of a long file is
// available.
func Doubt(text []byte, isFetched bool) string {
	if !suspicious(text) {
		return ""
	}
	return message(Problems(text, isFetched), "too-large", "binary", "utf-16", "html", "html-error-page")
}

// Problems returns what the linter finds in a robots.txt. The end of a long
// file is not fetched, so if isFetched is true, the linter's message has "at
// least" before the number of bytes.
func Problems(text []byte, isFetched bool) []lint.Problem {
	problems := lint.Check(text)
	for i := range problems {
		if isFetched && problems[i].Code == "too-large" {
			problems[i].Message = strings.Replace(problems[i].Message, "the file has", "the file has at least", 1)
		}
	}
	return problems
}

// DoubtOfPage returns a sentence if a page is not text, or "" if it is text. It
// recognizes types as browsers do.
func DoubtOfPage(text []byte) string {
	text = text[:min(len(text), 512)]
	switch kind := http.DetectContentType(text); {
	case strings.HasPrefix(kind, "text/"), message(lint.Check(text), "utf-16") != "":
		return ""
	case kind == "application/octet-stream":
		return "the page is not text"
	default:
		return "the page is not text but " + kind
	}
}

func message(problems []lint.Problem, codes ...string) string {
	for _, p := range problems {
		if slices.Contains(codes, p.Code) {
			return p.Message
		}
	}
	return ""
}

// suspicious reports whether the linter should examine the text. It is fast,
// because it looks only at the length and the first 1024 bytes.
func suspicious(text []byte) bool {
	const odd = "<\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
	head := text[:min(len(text), 1024)]
	return len(text) > robotstxt.MaxSize || bytes.ContainsAny(head, odd) || !utf8.Valid(head) || bytes.Contains(head, []byte("\ufffd"))
}
