// Package robots reads a robots.txt for the commands of robotscheck: from a
// file, from standard input or, as a crawler would, from a URL. It decides
// whether a target is allowed, recognizes files that are probably not meant as
// a robots.txt, and parses the names of robots.
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
		cause := command.Printable(s.Decision.Cause)
		return fmt.Errorf("%s is unreachable, so everything is disallowed for now: %s", s.Name, cause)
	}
	return nil
}

// Doubt returns why the file is doubtful, or "" if it is not.
func (s *Source) Doubt() string { return Doubt(s.Text, s.Decision != nil) }

// Judge returns the verdict of a polite crawler on a target, by the rules for
// the robot (see the function [Judge]).
func (s *Source) Judge(rules *robotstxt.Rules, target string) Verdict {
	if s.Absent != "" {
		return Verdict{Allowed: s.Absent == robotsmw.Unavailable, Reason: s.Absent}
	}
	return Judge(rules, target)
}

var invalidInURL = regexp.MustCompile(`[^!-~]`)

// Escape returns a target as a client sends it, with percent-escapes for
// characters that a URL cannot contain, such as "ä".
func Escape(target string) string {
	return invalidInURL.ReplaceAllStringFunc(target, url.PathEscape)
}

// CheckTarget returns an error if target is neither a path nor a URL to which
// the robots.txt applies. Each scheme, host and port has its own robots.txt. A
// local file applies to any URL.
func (s *Source) CheckTarget(target string) error {
	if err := command.CheckScheme(target); err != nil {
		return err
	}
	if !command.IsURL(target) {
		if !strings.HasPrefix(target, "/") {
			return command.Usagef("%q: must be a path that begins with \"/\", or an absolute URL", target)
		}
		return nil
	}
	if s.Decision == nil {
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

	// Resolved is the path, with the query, that servers may treat the target
	// as (see robotsmw.Decision), if it is disallowed and thus decides. It is
	// "" if the unchanged target decides.
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

// Judge returns the same verdict on a target as a robotsmw.Checker. If a target
// is allowed, but servers may treat it as another path that is disallowed,
// Judge returns the verdict on that path.
func Judge(rules *robotstxt.Rules, target string) Verdict {
	match, resolved := rules.MatchResolved(target)
	v := NewVerdict(match)
	v.Resolved = resolved
	return v
}

// NewVerdict converts a Match to a Verdict. Resolved is empty.
func NewVerdict(m robotstxt.Match) Verdict {
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

// Status returns the exit status for a verdict. doubt is the reason why the
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

// reasonTexts describes each reason but ByRule.
var reasonTexts = map[robotsmw.Reason]string{
	robotsmw.NoMatch:     "no rule of its group matches",
	robotsmw.EmptyGroup:  "its group has no rules",
	robotsmw.NoGroup:     "no group is for it",
	robotsmw.IsRobotsTxt: "robots.txt itself is always allowed",
	robotsmw.TooMuchWork: "the rules take too much work for one URL",
	robotsmw.Unavailable: "there is no robots.txt",
	robotsmw.Unreachable: "robots.txt is unreachable",
}

// Why returns the reason for the verdict in a few words.
func (v Verdict) Why() string {
	why := reasonTexts[v.Reason]
	if v.Reason == robotsmw.ByRule {
		why = fmt.Sprintf("line %d: %s", v.Line, command.Printable(v.Rule))
	}
	if v.Resolved != "" {
		why += ", as " + command.Printable(v.Resolved)
	}
	return why
}

// A Doubtful is the name of a doubtful robots.txt, with the reason. Commands
// that read several robots.txt files print it.
type Doubtful struct {
	Source string `json:"source"`
	Doubt  string `json:"doubt"`
}

func (d Doubtful) String() string {
	return "doubtful: " + command.Printable(d.Source) + ": " + command.Printable(d.Doubt)
}

// Print prints d as a line.
func (d Doubtful) Print(w io.Writer) { fmt.Fprintln(w, d) }

// Doubt returns a sentence with the reason why verdicts by a robots.txt are
// doubtful, or "" if they are not. The file may be longer than the 500 KiB that
// robots read, or not meant for robots at all. isFetched reports whether text
// may be only the beginning of a long file.
func Doubt(text []byte, isFetched bool) string {
	if !isSuspicious(text) {
		return ""
	}
	codes := []string{"too-large", "binary", "utf-16", "html", "html-error-page"}
	return firstMessage(Problems(text, isFetched), codes...)
}

// Problems returns what the linter finds in a robots.txt. If isFetched is true,
// text may be only the beginning of a long file, so the message on its length
// contains "at least".
func Problems(text []byte, isFetched bool) []lint.Problem {
	problems := lint.Check(text)
	for i := range problems {
		p := &problems[i]
		if isFetched && p.Code == "too-large" {
			p.Message = strings.Replace(p.Message, "the file has", "the file has at least", 1)
		}
	}
	return problems
}

// DoubtOfPage returns a sentence if a page is not text, or "" if it is text. It
// recognizes types as browsers do.
func DoubtOfPage(text []byte) string {
	text = text[:min(len(text), 512)]
	contentType := http.DetectContentType(text)
	isUTF16 := firstMessage(lint.Check(text), "utf-16") != ""
	if strings.HasPrefix(contentType, "text/") || isUTF16 {
		return ""
	}
	if contentType == "application/octet-stream" { // an unknown type
		return "the page is not text"
	}
	return "the page is not text but " + contentType
}

// firstMessage returns the message of the first problem that has one of the
// codes, or "" if there is none.
func firstMessage(problems []lint.Problem, codes ...string) string {
	for _, p := range problems {
		if slices.Contains(codes, p.Code) {
			return p.Message
		}
	}
	return ""
}

// isSuspicious reports whether the linter should examine the text. It is fast,
// because it considers only the length and the first 1024 bytes.
func isSuspicious(text []byte) bool {
	head := text[:min(len(text), 1024)]
	isTooLong := len(text) > robotstxt.MaxSize
	isNotText := !utf8.Valid(head) || bytes.ContainsRune(head, utf8.RuneError)
	return isTooLong || isNotText || bytes.ContainsFunc(head, isMarkupOrControl)
}

// isMarkupOrControl reports whether r is "<" or a control character other than
// tab, line feed and carriage return.
func isMarkupOrControl(r rune) bool {
	isControl := r < ' ' && !strings.ContainsRune("\t\n\r", r)
	return r == '<' || isControl
}
