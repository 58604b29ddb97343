package robotstxt

import (
	"strings"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// Rules are the rules that one robot must obey: those of its group, or of all
// its groups taken together. They do not change, so any number of goroutines
// may use them. They keep only the parts of the file that they need.
type Rules struct {
	agents []UserAgent   // the user-agent lines that name the robot
	delay  time.Duration // the Crawl-delay plus one nanosecond; 0 if there is none
	set    match.Set
}

// Rules returns the rules for a robot with the given product tokens. They are
// the rules for the first token that some group names, ignoring case. If no
// group names any of the tokens, they are the rules for "*". If no group names
// "*" either, everything is allowed. A token is the bare name, such as
// "ExampleBot", and not a User-Agent header. The result is never nil.
func (f *File) Rules(tokens ...string) *Rules {
	var few [8][]syntax.Record
	groups, token := f.groupsFor(few[:0], tokens)
	if len(groups) == 0 {
		return &Rules{set: match.NewBuilder(f.syntax.Dialect).Set()} // some dialects exempt /robots.txt even without rules
	}
	var agents [4]UserAgent
	named := agents[:0]
	delay := time.Duration(0)
	b := match.NewBuilder(f.syntax.Dialect)
	for _, group := range groups {
		delays := f.syntax.DelaysFor(token)
		for i := range group {
			switch rec := &group[i]; rec.Field {
			case syntax.Allow, syntax.Disallow:
				b.Add(f.syntax.Value(rec), rec.Line, rec.Field == syntax.Allow)
			case syntax.UserAgent:
				delays.IsFor(rec)
				if f.syntax.IsFor(rec, token) {
					named = append(named, UserAgent{cloned(f.syntax.Value(rec)), int(rec.Line)})
				}
			case syntax.CrawlDelay:
				if d, ok := syntax.ParseDelay(f.syntax.Value(rec)); delays.IsFor(rec) && ok {
					delay = max(delay, d+1)
				}
			}
		}
	}
	r := newRules(named)
	r.delay, r.set = delay, b.Set()
	return r
}

// newRules returns Rules for the robot that these user-agent lines name. If
// there is only one line, as nearly always, it is allocated together with the
// Rules.
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

// Size returns how many bytes of memory the Rules take, for use in a cache.
func (r *Rules) Size() int {
	size := int(unsafe.Sizeof(*r)-unsafe.Sizeof(r.set)) + r.set.Size() + cap(r.agents)*int(unsafe.Sizeof(UserAgent{}))
	for _, a := range r.agents {
		size += len(a.Value)
	}
	return size
}

// cloned returns a copy of a user-agent line's value, so that the Rules do not
// keep the file's text in memory.
func cloned(value string) string {
	if value == "*" {
		return "*"
	}
	return strings.Clone(value)
}

// CrawlDelay returns the Crawl-delay for the robot: the time that the site
// wants between two requests. ok is false if no line asks the robot for a
// delay. For the value "0", delay is 0 and ok is true. If several lines are for
// the robot, the greatest delay counts.
//
// No standard defines the field. A Crawl-delay belongs to the user-agent lines
// before it in its group, but only to those after the previous Crawl-delay. If
// there are no user-agent lines between two Crawl-delays, both belong to the
// same lines. So robots may share a group with all its rules, but have
// different delays. The value is a decimal number of seconds, with or without a
// fraction ("0.5", "10"). A line with another value ("1e3", "0x10", "-1",
// "soon") asks for no delay.
func (r *Rules) CrawlDelay() (delay time.Duration, ok bool) { return max(r.delay-1, 0), r.delay > 0 }
