package robotstxt

import "strings"

// A Match tells whether a robot may fetch a target, and why.
type Match struct {
	Allowed bool
	Reason  Reason
	Kind    Kind        // whether the deciding rule is an Allow or a Disallow; NoRule where no rule decided
	Pattern string      // the deciding rule's pattern as written in the file; "" where no rule decided
	Line    int         // the deciding rule's line, counted from 1; 0 where no rule decided
	Group   []UserAgent // the user-agent lines that name the robot; nil for none. Not to be changed
}

// A Kind is what a rule says.
type Kind uint8

const (
	NoRule Kind = iota
	Allow
	Disallow
)

// String returns the kind as a robots.txt file spells it.
func (k Kind) String() string {
	switch k {
	case Allow:
		return "Allow"
	case Disallow:
		return "Disallow"
	}
	return "no rule"
}

// A Reason is what a Match rests on.
type Reason uint8

const (
	NoGroup     Reason = iota // no group is for this robot, nor for "*": allowed
	EmptyGroup                // the robot's group has no rules: allowed
	NoMatch                   // none of the rules in the robot's group matches: allowed
	ByRule                    // the most specific rule that matches decides: Match.Kind
	IsRobotsTxt               // the target is /robots.txt, which is always allowed (RFC 9309 §2.2.2)
)

// String returns the reason in a few words.
func (r Reason) String() string {
	switch r {
	case NoGroup:
		return "no group for this robot"
	case EmptyGroup:
		return "group without rules"
	case NoMatch:
		return "no rule matches"
	case ByRule:
		return "rule"
	case IsRobotsTxt:
		return "robots.txt itself"
	}
	return "unknown reason"
}

// Allowed reports whether the robot may fetch a target: "/path?query" or an absolute URL, escaped or not.
// Whatever names the host is not looked at: the caller knows which file governs it.
func (r *Rules) Allowed(target string) bool { return r.Match(target).Allowed }

// Match is Allowed with the reason.
func (r *Rules) Match(target string) Match {
	m := Match{Allowed: true, Group: r.agents}
	canonical := string(appendTarget(nil, pathAndQuery(target)))
	switch {
	case canonical == "/robots.txt":
		m.Reason = IsRobotsTxt
	case r.agents == nil:
		m.Reason = NoGroup
	case len(r.rules) == 0:
		m.Reason = EmptyGroup
	default:
		m.Reason = NoMatch
		for _, rule := range r.rules {
			if matches(rule.canonical, canonical) {
				m.Reason, m.Kind, m.Pattern, m.Line = ByRule, Disallow, rule.written, rule.line
				if rule.allow {
					m.Allowed, m.Kind = true, Allow
				} else {
					m.Allowed = false
				}
				break
			}
		}
	}
	return m
}

// matches walks through a pattern with every place in the target where the part read so far may end.
func matches(pattern, target string) bool {
	query := strings.IndexByte(target, '?')
	if query < 0 {
		query = len(target)
	}
	ends := []int{0}
	for i := range len(pattern) {
		var next []int
		for _, at := range ends {
			switch c := pattern[i]; c {
			case anything:
				if at == ends[0] {
					for to := at; to <= len(target); to++ {
						next = append(next, to)
					}
				}
			case theEnd:
				if at == len(target) {
					next = append(next, at)
				}
			case slashOrEscape, queryOrEscape:
				bare, escape := "/", "%2F"
				if c == queryOrEscape {
					bare, escape = "?", "%3F"
				}
				if at <= query && strings.HasPrefix(target[at:], escape) {
					next = append(next, at+len(escape))
				} else if at > query && strings.HasPrefix(target[at:], bare) {
					next = append(next, at+len(bare))
				}
			default:
				if at < len(target) && target[at] == c {
					next = append(next, at+1)
				}
			}
		}
		ends = next
	}
	return len(ends) > 0
}
