package robotstxt

import (
	"cmp"
	"slices"
	"time"
)

// Rules are what one robot has to obey: the rules of its group, or of all its groups taken together. They do
// not change: any number of goroutines may use them. They keep what they need of the file, not the whole of it.
type Rules struct {
	agents   []UserAgent
	rules    []rule // the most specific first
	delay    time.Duration
	hasDelay bool
}

type rule struct {
	allow     bool
	line      int
	length    int
	written   string
	canonical string
}

// Rules returns the rules for a robot that goes by the given product tokens: those of the first token that some
// group names, without regard to case; else those for "*"; else none, which allow everything. A token is the
// bare name, "ExampleBot", not a User-Agent header. The result is never nil.
func (f *File) Rules(tokens ...string) *Rules {
	for _, token := range tokens {
		if r := f.rulesFor(token); r != nil {
			return r
		}
	}
	if r := f.rulesFor(everyone); r != nil {
		return r
	}
	return &Rules{}
}

func (f *File) rulesFor(token string) *Rules {
	r := &Rules{}
	for group := range f.groups() {
		if !isFor(group, token) {
			continue
		}
		for _, rec := range group {
			r.add(rec, token)
		}
	}
	if r.agents == nil {
		return nil
	}
	slices.SortStableFunc(r.rules, func(a, b rule) int {
		if a.length != b.length || a.allow == b.allow {
			return cmp.Compare(b.length, a.length)
		}
		if a.allow {
			return -1
		}
		return 1
	})
	return r
}

func (r *Rules) add(rec record, token string) {
	switch rec.field {
	case fieldUserAgent:
		if names(rec.value, token) {
			r.agents = append(r.agents, UserAgent{rec.value, rec.line})
		}
	case fieldAllow, fieldDisallow:
		if !canMatch(rec.value) {
			return
		}
		canonical, length := appendPattern(nil, rec.value)
		r.rules = append(r.rules, rule{
			allow: rec.field == fieldAllow, line: rec.line, length: length,
			written: rec.value, canonical: string(canonical),
		})
	case fieldCrawlDelay:
		if d, ok := parseDelay(rec.value); ok && (!r.hasDelay || d > r.delay) {
			r.delay, r.hasDelay = d, true
		}
	}
}

// Size returns roughly how many bytes of memory the Rules keep, for a cache that has to know.
func (r *Rules) Size() int {
	n := 96
	for _, a := range r.agents {
		n += 24 + len(a.Value)
	}
	for _, rule := range r.rules {
		n += 64 + len(rule.written) + len(rule.canonical)
	}
	return n
}
