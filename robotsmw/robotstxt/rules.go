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
	for _, name := range tokens {
		if r := f.rulesFor(syntax.NewToken(name)); r != nil {
			return r
		}
	}
	if r := f.rulesFor(syntax.Everyone); r != nil {
		return r
	}
	return &Rules{}
}

// rulesFor returns the rules of the groups that name a token, or nil if none
// does.
func (f *File) rulesFor(t syntax.Token) *Rules {
	var r *Rules
	var c *match.Compiler
	for groups := f.syntax.Groups(); groups.NextFor(t); {
		if r == nil {
			r, c = new(Rules), match.NewCompiler(f.syntax.Dialect)
		}
		delays := f.syntax.DelaysFor(t)
		for i := range groups.Group {
			rec := &groups.Group[i]
			isDelay := delays.IsFor(rec)
			switch rec.Field {
			case syntax.UserAgent:
				if f.syntax.IsFor(rec, t) {
					r.agents = append(r.agents, UserAgent{cloned(f.syntax.Value(rec)), int(rec.Line)})
				}
			case syntax.Allow, syntax.Disallow:
				c.Add(f.syntax.Value(rec), rec.Line, rec.Field == syntax.Allow)
			case syntax.CrawlDelay:
				if d, ok := syntax.ParseDelay(f.syntax.Value(rec)); ok && isDelay {
					r.delay = max(r.delay, d+1)
				}
			}
		}
	}
	if r != nil {
		if cap(r.agents) > len(r.agents) {
			r.agents = append(make([]UserAgent, 0, len(r.agents)), r.agents...)
		}
		c.Finish(&r.set, r.besides())
	}
	return r
}

// Size returns how many bytes of memory the Rules keep, for a cache that has to
// know.
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
