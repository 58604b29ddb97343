package robotstxt

import (
	"strings"
	"time"
	"unsafe"
)

// Rules are what one robot has to obey: the rules of its group, or of all its groups taken together. They do
// not change: any number of goroutines may use them. They keep what they need of the file, not the whole of it.
type Rules struct {
	agents  []UserAgent
	text    string        // the rules, see packed.go, and padding
	delay   time.Duration // one more than the delay; 0 for none
	second  octetSet      // if they are few: the octets after "/" with which a target is worth a look
	index   *index        // nil for a group so small that its rules are tried one by one
	dialect Dialect
	some    bool // whether there is any rule
	few     bool // whether the rules are tried one by one, and all are literal and longer than "/"
	eager   bool // whether targets must be in the form of escape.go before they are compared
}

// Rules returns the rules for a robot that goes by the given product tokens: those of the first token that some
// group names, without regard to case; else those for "*"; else none, which allow everything. A token is the
// bare name, "ExampleBot", not a User-Agent header. The result is never nil.
func (f *File) Rules(tokens ...string) *Rules {
	for _, name := range tokens {
		if r := f.rulesFor(newToken(name)); r != nil {
			return r
		}
	}
	if r := f.rulesFor(everyone); r != nil {
		return r
	}
	return &Rules{}
}

// rulesFor returns the rules of the groups that name a token, or nil if none does.
func (f *File) rulesFor(t token) *Rules {
	var r *Rules
	var c *compiler
	for groups := f.groups(); groups.nextFor(t); {
		if r == nil {
			r, c = &Rules{dialect: f.dialect}, newCompiler(f.dialect)
		}
		for i := range groups.group {
			rec := &groups.group[i]
			switch rec.field {
			case fieldUserAgent:
				if value := f.value(rec); f.isIn(value, t) {
					r.agents = append(r.agents, UserAgent{cloned(value), int(rec.line)})
				}
			case fieldAllow, fieldDisallow:
				c.add(f.value(rec), rec.line, rec.field == fieldAllow)
			case fieldCrawlDelay:
				if d, ok := parseDelay(f.value(rec)); ok {
					r.delay = max(r.delay, d+1)
				}
			}
		}
	}
	if r != nil {
		if cap(r.agents) > len(r.agents) {
			r.agents = append(make([]UserAgent, 0, len(r.agents)), r.agents...)
		}
		c.finish(r)
	}
	return r
}

// Size returns how many bytes of memory the Rules keep, for a cache that has to know.
func (r *Rules) Size() int {
	r.ready()
	size := r.fixedSize() + len(r.text)
	if r.index != nil {
		size += sizeOf(r.index.table)
	}
	return size
}

// fixedSize is the part of Size that does not depend on the rules.
func (r *Rules) fixedSize() int {
	size := int(unsafe.Sizeof(*r)) + sizeOf(r.agents)
	for _, a := range r.agents {
		size += len(a.Value)
	}
	if r.index != nil {
		size += int(unsafe.Sizeof(*r.index))
	}
	return size
}

// sizeOf returns how many bytes a slice's array takes.
func sizeOf[E any](s []E) int {
	var e E
	return cap(s) * int(unsafe.Sizeof(e))
}

// cloned returns a copy of what a user-agent line says, so that the file can go.
func cloned(value string) string {
	if value == "*" {
		return "*"
	}
	return strings.Clone(value)
}
