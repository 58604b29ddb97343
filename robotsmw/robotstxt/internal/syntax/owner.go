package syntax

import "strings"

// A Scope identifies lines of a group that belong to only some of its
// user-agent lines. Lines of ScopeGroup, such as the rules of RFC 9309, belong
// to all of them.
type Scope uint8

const (
	ScopeGroup         Scope = iota // the whole group
	ScopeCrawlDelay                 // Crawl-delay
	ScopeRate                       // Request-rate
	ScopeVisitTime                  // Visit-time
	ScopeContentUsage               // Content-Usage
	ScopeContentSignal              // Content-Signal
	scopes
)

// Scope returns the scope of a record.
func (f *File) Scope(r *Record) Scope {
	switch r.Field {
	case CrawlDelay:
		return ScopeCrawlDelay
	case Other:
		return scopeByName(f.Name(r))
	}
	return ScopeGroup
}

// scopeByName returns the scope of a field that has no constant of its own.
func scopeByName(name string) Scope {
	switch len(name) {
	case len("Request-rate"):
		if strings.EqualFold(name, "Request-rate") {
			return ScopeRate
		}
	case len("Visit-time"):
		if strings.EqualFold(name, "Visit-time") {
			return ScopeVisitTime
		}
	case len("Content-Usage"): // ContentSignal has as many bytes
		if strings.EqualFold(name, "Content-Usage") {
			return ScopeContentUsage
		}
		if strings.EqualFold(name, "ContentSignal") {
			return ScopeContentSignal
		}
	case len("Content-Signal"):
		if strings.EqualFold(name, "Content-Signal") {
			return ScopeContentSignal
		}
	}
	return ScopeGroup
}

// An OwnerReader finds out which lines of a group belong to a robot. Its method
// IsFor takes the group's records in order.
//
// A line whose scope is not the group belongs to the user-agent lines since the
// previous line of this scope. If there are no such lines, it belongs to the
// same lines as the previous line of its scope. So user-agent lines can share
// rules, but have different delays.
//
// A Content-Usage line is a rule (draft-ietf-aipref-attach), so a user-agent
// line after it begins another group for all preferences and rates. The groups
// of Allow, Disallow and Crawl-delay are those of RFC 9309 and of other
// crawlers, for which it is no rule.
type OwnerReader struct {
	file   *File
	token  Token
	owners [scopes]owner
}

// An owner is who the next line of a scope belongs to.
type owner struct {
	isNamed bool // whether the next line belongs to a user-agent line that names the robot
	isRead  bool // whether a line of the scope came after the latest user-agent line
}

// OwnersFor returns an OwnerReader for one group and the robot with this token.
func (f *File) OwnersFor(t Token) OwnerReader { return OwnerReader{file: f, token: t} }

// IsFor takes the next record. It reports whether the record belongs to the
// robot, even if its value is invalid.
func (o *OwnerReader) IsFor(r *Record) bool {
	if r.Field == UserAgent {
		isNamed := o.file.IsFor(r, o.token)
		for i := range o.owners {
			owner := &o.owners[i]
			if owner.isRead { // this user-agent line begins a new series
				owner.isNamed = false
				owner.isRead = false
			}
			owner.isNamed = owner.isNamed || isNamed
		}
		return isNamed
	}
	scope := o.file.Scope(r)
	if scope == ScopeGroup {
		return true
	}
	o.owners[scope].isRead = true
	if scope == ScopeContentUsage {
		for _, other := range []Scope{ScopeRate, ScopeVisitTime, ScopeContentSignal} {
			o.owners[other].isRead = true
		}
	}
	return o.owners[scope].isNamed
}
