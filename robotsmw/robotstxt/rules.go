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
// may use them. They keep only the parts of the file that they need: at most
// 200 bytes, and for each rule its pattern and 16 bytes more. [Rules.Match]
// returns user-agent lines and patterns as written. So two things can add to
// these bytes: the robot's user-agent lines after the first one, and the stored
// form of patterns that are stored in another form than the written one.
//
// The rules are tried one by one, in about a nanosecond for each rule. For most
// rules, the first bytes show that they do not match, or the target lacks a
// byte that the rule needs. Questions about long targets use buffers from a
// pool, and other memory is not allocated.
//
// The author of a file may try to make it expensive. A try of a rule with "*"
// takes time in proportion to the lengths of the target and the pattern. It is
// counted as the length of the pattern and half that of the target, in steps of
// about a nanosecond. For one target, all rules may cost 16,777,216 steps, and
// 32 more for each byte of the target. Beyond this limit the target is
// disallowed, with the reason [TooMuchWork]. Only a file that is made for this
// purpose reaches the limit. A group of 10,000 rules costs about two thirds of
// it, if the target has 2,000 bytes and all bytes that the rules need.
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
		owners := f.syntax.OwnersFor(token)
		for i := range group {
			switch rec := &group[i]; rec.Field {
			case syntax.Allow, syntax.Disallow:
				b.Add(f.syntax.Value(rec), rec.Line, rec.Field == syntax.Allow)
			case syntax.UserAgent:
				if owners.IsFor(rec) {
					named = append(named, UserAgent{cloned(f.syntax.Value(rec)), int(rec.Line)})
				}
			case syntax.CrawlDelay:
				if d, ok := syntax.ParseDelay(f.syntax.Value(rec)); owners.IsFor(rec) && ok {
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
// No standard defines the field. Each robot of a group may have its own delay.
// In
//
//	User-agent: SlowBot
//	Crawl-delay: 300
//	User-agent: *
//	Crawl-delay: 30
//	Disallow: /cart
//
// the rule is for all robots, but SlowBot waits for 300 seconds, and all others
// wait for 30. A Crawl-delay belongs to the user-agent lines since the previous
// Crawl-delay of its group. If there are no such lines, it belongs to the same
// user-agent lines as the previous Crawl-delay, and the larger value counts.
//
// The value is a decimal number of seconds, with or without a fraction ("0.5",
// "10"). A line with another value ("1e3", "0x10", "-1", "soon") asks for no
// delay.
func (r *Rules) CrawlDelay() (delay time.Duration, ok bool) { return max(r.delay-1, 0), r.delay > 0 }
