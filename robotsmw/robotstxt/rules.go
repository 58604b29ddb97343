package robotstxt

import (
	"strings"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// Rules are what one robot has to obey: the rules of its group, or of all its
// groups taken together. They do not change: any number of goroutines may use
// them. They keep what they need of the file, not the whole of it.
type Rules struct {
	agents []UserAgent   // the user-agent lines that name the robot
	delay  time.Duration // one more than the delay; 0 for none
	set    match.Set
}

// Rules returns the rules for a robot that goes by the given product tokens:
// those of the first token that some group names, without regard to case; else
// those for "*"; else none, which allow everything. A token is the bare name,
// "ExampleBot", not a User-Agent header. The result is never nil.
func (f *File) Rules(tokens ...string) *Rules {
	var few [8][]syntax.Record
	groups, token := f.groupsFor(few[:0], tokens)
	if len(groups) == 0 {
		return &Rules{}
	}
	var agents [4]UserAgent
	named := agents[:0]
	delay := time.Duration(0)
	c := match.NewCompiler(f.syntax.Dialect)
	for _, group := range groups {
		delays := f.syntax.DelaysFor(token)
		for i := range group {
			rec := &group[i]
			isDelay := delays.IsFor(rec)
			switch rec.Field {
			case syntax.UserAgent:
				if f.syntax.IsFor(rec, token) {
					named = append(named, UserAgent{cloned(f.syntax.Value(rec)), int(rec.Line)})
				}
			case syntax.Allow, syntax.Disallow:
				c.Add(f.syntax.Value(rec), rec.Line, rec.Field == syntax.Allow)
			case syntax.CrawlDelay:
				if d, ok := syntax.ParseDelay(f.syntax.Value(rec)); ok && isDelay {
					delay = max(delay, d+1)
				}
			}
		}
	}
	r := newRules(named)
	r.delay = delay
	c.Finish(&r.set, r.besides())
	return r
}

// newRules returns Rules for a robot that some user-agent lines name: nearly
// always one, which then needs no memory of its own.
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

// Size returns how many bytes of memory the Rules keep at most, for a cache that
// has to know. It stays the same, whatever they are asked.
func (r *Rules) Size() int { return r.besides() + r.set.Size() }

// besides is the part of Size that is not the Set's.
func (r *Rules) besides() int {
	size := int(unsafe.Sizeof(*r)-unsafe.Sizeof(r.set)) + cap(r.agents)*int(unsafe.Sizeof(UserAgent{}))
	for _, a := range r.agents {
		size += len(a.Value)
	}
	return size
}

// cloned returns a copy of what a user-agent line says, so that the file can
// go.
func cloned(value string) string {
	if value == "*" {
		return "*"
	}
	return strings.Clone(value)
}

// CrawlDelay returns the Crawl-delay that is for the robot: how long the site
// wants it to wait between two requests. ok is false where there is none, and
// true with 0 where it is "0". Of several lines the greatest delay counts.
//
// No standard defines the field. A line belongs to the user-agent lines since
// the previous Crawl-delay of its group; if there are none, to that one's. So
// robots that share a group, and with it all rules, may have a delay each. The
// value is plain decimal seconds, fractions and all ("0.5", "10"). A line with
// another value ("1e3", "0x10", "-1", "soon") asks for no delay.
func (r *Rules) CrawlDelay() (delay time.Duration, ok bool) { return max(r.delay-1, 0), r.delay > 0 }
