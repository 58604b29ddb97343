// Package source gets a robots.txt from where the caller says it is: a file,
// standard input, or a URL, where it is fetched as a crawler would.
package source

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/doubt"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/output"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/verdict"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Source is a robots.txt: a file, or what is in force at a URL.
type Source struct {
	Name string // as the caller calls it, or the robots.txt's URL
	Text []byte // empty where there is no file

	// Of a URL: where robots.txt was found in the end, and what the answers
	// mean. Decision is nil for a file.
	From     string
	Decision *robotsmw.Decision

	parsed map[robotstxt.Dialect]*robotstxt.File
}

// Absent returns why there is no file, and whether there is none.
func (s *Source) Absent() (robotsmw.Reason, bool) {
	if s.Decision == nil {
		return 0, false
	}
	switch r := s.Decision.Reason; r {
	case robotsmw.Unavailable, robotsmw.Unreachable, robotsmw.Forbidden:
		return r, true
	}
	return 0, false
}

// Unreachable returns an error where nobody can tell what the rules are.
func (s *Source) Unreachable() error {
	if reason, ok := s.Absent(); ok && reason == robotsmw.Unreachable {
		return fmt.Errorf("%s cannot be had, so that everything is disallowed for the time being: %s", s.Name, output.Printable(s.Decision.Cause))
	}
	return nil
}

// Doubt says why the file is not what robots should be given; "" for no reason.
func (s *Source) Doubt() string {
	if s.Decision != nil {
		return doubt.OfFetched(s.Text)
	}
	return doubt.Of(s.Text)
}

// File returns the file as a dialect reads it.
func (s *Source) File(dialect robotstxt.Dialect) *robotstxt.File {
	if s.parsed == nil {
		s.parsed = make(map[robotstxt.Dialect]*robotstxt.File)
	}
	if s.parsed[dialect] == nil {
		s.parsed[dialect] = dialect.Parse(s.Text)
	}
	return s.parsed[dialect]
}

// NoFile returns the verdict on every target where there is no file, and
// whether that is so.
func (s *Source) NoFile() (verdict.Verdict, bool) {
	reason, none := s.Absent()
	return verdict.Verdict{Allowed: reason == robotsmw.Unavailable, Reason: reason}, none
}

// Judge returns the verdict on a target: by RFC 9309, what a polite crawler
// goes by, and by another dialect, what its parser says of the target alone.
func (s *Source) Judge(dialect robotstxt.Dialect, agent, target string) verdict.Verdict {
	if v, none := s.NoFile(); none {
		return v
	}
	rules := s.File(dialect).Rules(agent)
	if dialect == robotstxt.RFC9309 {
		return verdict.Judge(rules, Sent(target))
	}
	return verdict.Of(rules.Match(Sent(target)))
}

// Sent is a target as it is sent: what URLs cannot hold, such as letters beyond
// ASCII, goes as percent-escapes of its UTF-8. RFC 9309 has both forms match;
// other dialects know that one only.
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

// Governs returns an error if the robots.txt is not that of a target which
// names its host.
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

// origin is what robots.txt is valid for: scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
