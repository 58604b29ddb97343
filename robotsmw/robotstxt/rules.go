package robotstxt

import (
	"strings"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// Rules are the rules that apply to one robot, from all of its groups. They are
// immutable, and safe for concurrent use by multiple goroutines.
//
// Rules occupy at most 200 bytes, plus 16 bytes and the length of the pattern
// for each rule. A pattern with unusual percent-encoding is stored twice,
// verbatim and normalized. If more than one user-agent line names the robot,
// the additional lines are also stored.
//
// Matching tries the rules one by one, and takes about a nanosecond per rule.
// Most rules are skipped after comparing their first bytes with those of the
// target, or because the target lacks a byte that the pattern contains.
// Matching does not allocate, except for pooled buffers if a target is long.
//
// Because the author of a file may be hostile, the time for one target is
// limited. Trying a rule with "*" counts as one step for each byte of its
// pattern and half a step for each byte of the target; a step takes about a
// nanosecond. A target is disallowed, with the reason [TooMuchWork], if it
// takes more than 16,777,216 steps, plus 32 for each of its bytes. A group of
// 10,000 rules takes about two thirds of this limit in the worst case, if the
// target has 2,000 bytes, so that only malicious files exceed it.
type Rules struct {
	agents []UserAgent   // the user-agent lines that name the robot
	delay  time.Duration // the Crawl-delay plus one nanosecond; 0 if there is none
	set    match.Set
}

// Rules returns the rules for a robot with the given product tokens. If groups
// name several of the tokens, in any case, only the groups that name the first
// of these tokens apply. If no group names any of the tokens, Rules returns the
// rules for "*". If there is no group for "*" either, everything is allowed. A
// token is the bare name of a robot, such as "ExampleBot", and not the value of
// a User-Agent header. The result is never nil.
func (f *File) Rules(tokens ...string) *Rules {
	var stack [8][]syntax.Record // avoids an allocation for most files
	groups, token := f.groupsFor(stack[:0], tokens)
	builder := match.NewBuilder(f.syntax.Dialect)
	if len(groups) == 0 {
		// the Set needs the dialect, because some dialects exempt /robots.txt
		return &Rules{
			set: builder.Set(),
		}
	}
	var agentStack [4]UserAgent
	agents := agentStack[:0]
	delay := time.Duration(0)
	for _, group := range groups {
		scopes := f.syntax.ScopesFor(token)
		for i := range group {
			r := &group[i]
			switch r.Field {
			case syntax.Allow, syntax.Disallow:
				builder.Add(f.syntax.Value(r), r.Line, r.Field == syntax.Allow)
			case syntax.UserAgent:
				if scopes.AppliesTo(r) {
					agents = append(agents, UserAgent{cloneAgent(f.syntax.Value(r)), int(r.Line)})
				}
			case syntax.CrawlDelay:
				d, ok := syntax.ParseDelay(f.syntax.Value(r))
				if scopes.AppliesTo(r) && ok {
					delay = max(delay, d+1)
				}
			}
		}
	}
	rules := newRules(agents)
	rules.delay = delay
	rules.set = builder.Set()
	return rules
}

// newRules returns Rules without rules for a robot that is named by the given
// user-agent lines. If there is only one line, which is the usual case, a
// single allocation contains both the line and the Rules.
func newRules(agents []UserAgent) *Rules {
	if len(agents) != 1 {
		return &Rules{agents: append(make([]UserAgent, 0, len(agents)), agents...)}
	}
	r := &struct {
		Rules
		agent [1]UserAgent
	}{agent: [1]UserAgent(agents)}
	r.agents = r.agent[:]
	return &r.Rules
}

// Size returns the memory that the Rules occupy, in bytes.
func (r *Rules) Size() int {
	size := int(unsafe.Sizeof(*r) - unsafe.Sizeof(r.set))
	size += r.set.Size()
	size += cap(r.agents) * int(unsafe.Sizeof(UserAgent{}))
	for _, a := range r.agents {
		size += len(a.Value)
	}
	return size
}

// cloneAgent returns a copy of the value of a user-agent line, so that Rules do
// not retain the text of the file.
func cloneAgent(value string) string {
	if value == "*" {
		return "*"
	}
	return strings.Clone(value)
}

// CrawlDelay returns the Crawl-delay for the robot, which is the minimum time
// between two requests. ok is false if there is no Crawl-delay for the robot.
// If several Crawl-delay lines apply to the robot, the greatest value applies.
//
// The field is not standardized. The robots of a group may have different
// delays. For example, in
//
//	User-agent: SlowBot
//	Crawl-delay: 300
//	User-agent: *
//	Crawl-delay: 30
//	Disallow: /cart
//
// the rule applies to all robots, but the delay is 300 seconds for SlowBot and
// 30 seconds for all others. A Crawl-delay applies to the user-agent lines
// after the previous Crawl-delay of the group. If there is no user-agent line
// between the two, it applies to the same robots as the previous one.
//
// The value is a decimal number of seconds, which may have a fraction ("10",
// "0.5"). A line with any other value ("1e3", "0x10", "-1", "soon") is ignored.
func (r *Rules) CrawlDelay() (delay time.Duration, ok bool) {
	return max(r.delay-1, 0), r.delay > 0
}
