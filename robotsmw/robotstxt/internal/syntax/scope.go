package syntax

import "strings"

// A Scope determines which user-agent lines of a group a line applies to. Lines
// of ScopeGroup, such as rules, apply to all of them. For each other scope, a
// line applies to the user-agent lines after the previous line of its scope.
type Scope uint8

const (
	ScopeGroup         Scope = iota // the whole group
	ScopeCrawlDelay                 // Crawl-delay
	ScopeRequestRate                // Request-rate
	ScopeVisitTime                  // Visit-time
	ScopeContentUsage               // Content-Usage
	ScopeContentSignal              // Content-Signal
	numScopes
)

// Scope returns the scope of a record.
func (f *File) Scope(r *Record) Scope {
	switch r.Field {
	case CrawlDelay:
		return ScopeCrawlDelay
	case Other:
		return parseScope(f.Name(r))
	}
	return ScopeGroup
}

// scopesByName contains the scopes of the fields that are [Other].
var scopesByName = [...]struct {
	name  string
	scope Scope
}{
	{"Request-rate", ScopeRequestRate},
	{"Visit-time", ScopeVisitTime},
	{"Content-Usage", ScopeContentUsage},
	{"Content-Signal", ScopeContentSignal},
	{"ContentSignal", ScopeContentSignal},
}

func parseScope(name string) Scope {
	for i := range scopesByName {
		s := &scopesByName[i]
		if len(name) == len(s.name) && strings.EqualFold(name, s.name) {
			return s.scope
		}
	}
	return ScopeGroup
}

// A ScopeReader finds the lines of a group that apply to one robot, so that
// robots can share rules but have different delays or preferences.
//
// A line with a scope applies to the user-agent lines after the previous line
// of its scope. If there is no user-agent line between the two, it applies to
// the same robots as the previous line.
//
// Because a Content-Usage line is a rule (draft-ietf-aipref-attach), a
// user-agent line after it begins a new series for all preferences and rates.
// Allow, Disallow and Crawl-delay are not affected, because other crawlers and
// RFC 9309 do not regard Content-Usage as a rule.
type ScopeReader struct {
	file   *File
	token  Token
	scopes [numScopes]scopeState
}

// A scopeState describes the next line of a scope.
type scopeState struct {
	applies bool // whether the next line applies to the robot
	closed  bool // whether a line of the scope has followed the latest user-agent line
}

// ScopesFor returns a ScopeReader for a group and the robot with the token t.
func (f *File) ScopesFor(t Token) ScopeReader { return ScopeReader{file: f, token: t} }

// AppliesTo reports whether a record applies to the robot, even if the value of
// the record is invalid. It must be called for all records of the group that
// are user-agent lines or have a scope, in order.
func (s *ScopeReader) AppliesTo(r *Record) bool {
	if r.Field == UserAgent {
		named := s.file.NamesToken(r, s.token)
		s.addUserAgent(named)
		return named
	}
	scope := s.file.Scope(r)
	if scope == ScopeGroup {
		return true
	}
	s.scopes[scope].closed = true
	if scope == ScopeContentUsage {
		s.scopes[ScopeRequestRate].closed = true
		s.scopes[ScopeVisitTime].closed = true
		s.scopes[ScopeContentSignal].closed = true
	}
	return s.scopes[scope].applies
}

// addUserAgent adds a user-agent line to the series of each scope. named
// reports whether the line names the robot.
func (s *ScopeReader) addUserAgent(named bool) {
	for i := range s.scopes {
		state := &s.scopes[i]
		if state.closed { // this line begins a new series
			state.closed = false
			state.applies = false
		}
		state.applies = state.applies || named
	}
}
