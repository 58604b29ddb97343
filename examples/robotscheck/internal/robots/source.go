// Package robots is what the commands of robotscheck know about a robots.txt.
// It gets one from a file, from standard input or, as a crawler would, from a
// URL. It judges targets by it, finds reasons to doubt it, and reads the names
// of robots.
package robots

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Source is a robots.txt from a file, or the robots.txt in force at a URL.
// There may be no file at the URL.
type Source struct {
	Name string // the argument, or the URL of the robots.txt
	Text []byte // empty if there is no file

	// From and Decision are set for a URL. From is the URL of the last answer,
	// after redirects. Decision says what the answer means.
	From     string
	Decision *robotsmw.Decision

	parsed map[robotstxt.Dialect]*robotstxt.File
}

// Absent reports whether the robots.txt of the URL is missing or cannot be
// fetched, so that there are no rules. The Reason says why there are none.
func (s *Source) Absent() (robotsmw.Reason, bool) {
	if s.Decision == nil {
		return "", false
	}
	switch r := s.Decision.Reason; r {
	case robotsmw.Unavailable, robotsmw.Unreachable, robotsmw.Forbidden:
		return r, true
	}
	return "", false
}

// Unreachable returns an error if robots.txt is unreachable. Its rules are then
// unknown.
func (s *Source) Unreachable() error {
	if reason, ok := s.Absent(); ok && reason == robotsmw.Unreachable {
		return fmt.Errorf("%s cannot be had, so that everything is disallowed for the time being: %s", s.Name, command.Printable(s.Decision.Cause))
	}
	return nil
}

// Doubt says why the file is doubtful, or "" if it is not.
func (s *Source) Doubt() string {
	if s.Decision != nil {
		return DoubtOfFetched(s.Text)
	}
	return Doubt(s.Text)
}

// File returns the file as the parser of a dialect reads it.
func (s *Source) File(dialect robotstxt.Dialect) *robotstxt.File {
	if s.parsed == nil {
		s.parsed = make(map[robotstxt.Dialect]*robotstxt.File)
	}
	if s.parsed[dialect] == nil {
		s.parsed[dialect] = dialect.Parse(s.Text)
	}
	return s.parsed[dialect]
}

// NoFile reports whether there is no file. If so, the first result is the
// verdict on every target.
func (s *Source) NoFile() (Verdict, bool) {
	reason, none := s.Absent()
	return Verdict{Allowed: reason == robotsmw.Unavailable, Reason: reason}, none
}

// Judge returns the verdict on a target. With the dialect RFC9309, it is the
// verdict of a polite crawler. Such a crawler also judges the other names for
// the target (see [Verdict]). With another dialect, the verdict is what
// the parser of that dialect says about the target alone.
func (s *Source) Judge(dialect robotstxt.Dialect, agent, target string) Verdict {
	if v, none := s.NoFile(); none {
		return v
	}
	rules := s.File(dialect).Rules(agent)
	if dialect == robotstxt.RFC9309 {
		return Judge(rules, Sent(target))
	}
	return verdictOf(rules.Match(Sent(target)))
}

// Sent returns a target in the form that it has in a request. Bytes that a URL
// cannot contain become percent-escapes, for example the bytes of "ä".
func Sent(target string) string {
	if !strings.ContainsFunc(target, escaped) {
		return target
	}
	var b strings.Builder
	for i := range len(target) {
		if c := target[i]; escaped(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func escaped(r rune) bool { return r <= ' ' || r >= 0x7f }

// Governs returns an error if the target is a URL of another origin than the
// robots.txt. Each scheme, host and port has a robots.txt of its own. If the
// robots.txt is a local file, Governs accepts every target.
func (s *Source) Governs(target string) error {
	if s.Decision == nil || !command.IsURL(target) {
		return nil
	}
	u, err := command.ParseURL(target)
	if err != nil {
		return err
	}
	if origin(u) != origin(s.Decision.URL) {
		return command.Usagef("%s does not govern %s: that has a robots.txt of its own", s.Name, target)
	}
	return nil
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
