package robotstxt

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// Rules are what one robot has to obey: the rules of its group, or of all its groups taken together. They do
// not change: any number of goroutines may use them. They keep what they need of the file, not the whole of it.
type Rules struct {
	agents   []UserAgent
	text     string        // for each literal rule an octet that prefixIndex needs, then the patterns, then what else is kept
	rules    []rule        // the literal rules as prefixIndex needs them, the others the longest first, then the spellings
	delay    time.Duration // one more than the delay; 0 for none
	second   octetSet      // if they are few: the octets after "/" with which a target is worth a look
	pending  *pending      // nil for a group that was compiled at once
	index    *index        // nil for a small group
	root     prefixNode    // of the literal rules
	literals uint16        // how many rules are literal
	count    uint16        // how many rules there are
	dialect  Dialect
	few      bool // whether the rules are few, all literal and longer than "/"
	eager    bool // whether targets must be in the form of escape.go before they are compared
}

// An index is what a group needs that is too large for trying its rules one by one.
type index struct {
	prefixIndex
	gramIndex
}

// A rule is a line that says Allow or Disallow.
//
// Nearly all patterns have the form of escape.go in the file already. For each that has not, its spelling in the
// file is kept as one more "rule" after the others, of which about is the rule's number.
type rule struct {
	start uint32 // its pattern begins at text[start:] and ends where the next one begins
	about uint32 // from the lowest bit: whether it is an Allow, how many "*" its literalPart leaves out, its line
}

const (
	starBits = 12
	lineBits = 32 - starBits - 1
	_        = uint(1<<lineBits - MaxSize - 2) // there are not more lines than that
)

// A file of MaxSize octets cannot have more rules than their 16-bit numbers can tell apart.
const _ = uint16((MaxSize + 1) / len("allow:/\n"))

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
			r, c = &Rules{dialect: f.dialect}, compilers.Get().(*compiler)
			c.reset(f.text, f.dialect)
		}
		for i := range groups.group {
			rec := &groups.group[i]
			switch rec.field {
			case fieldUserAgent:
				if value := f.value(rec); f.isIn(value, t) {
					r.agents = append(r.agents, UserAgent{strings.Clone(value), int(rec.line)})
				}
			case fieldAllow, fieldDisallow:
				c.add(rec.value, rec.line, rec.field == fieldAllow)
			case fieldCrawlDelay:
				if d, ok := parseDelay(f.value(rec)); ok {
					r.delay = max(r.delay, d+1)
				}
			}
		}
	}
	if r != nil {
		c.finish(r)
	}
	return r
}

// pattern returns the pattern of rule i in the form of escape.go.
func (r *Rules) pattern(i int) string { return r.text[r.rules[i].start:r.rules[i+1].start] }

// literal returns the literalPart of the pattern of rule i.
func (r *Rules) literal(i int) string {
	stars := r.rules[i].about >> 1 & (1<<starBits - 1)
	return r.text[r.rules[i].start : r.rules[i+1].start-stars]
}

// allows reports whether rule i is an Allow.
func (r *Rules) allows(i int) bool { return r.rules[i].about&1 != 0 }

// line returns the line of rule i, counted from 1.
func (r *Rules) line(i int) int { return int(r.rules[i].about >> (starBits + 1)) }

// overrides is draft.overrides for rules i and j.
func (r *Rules) overrides(i, j int) bool {
	n, m := len(r.pattern(i)), len(r.pattern(j))
	if n != m {
		return n > m
	}
	if r.allows(i) != r.allows(j) {
		return r.allows(i)
	}
	return r.line(i) < r.line(j)
}

// better returns the one of two rules that overrides the other. best may be none.
func (r *Rules) better(i, best int) int {
	if best != none && r.overrides(best, i) {
		return best
	}
	return i
}

// asWritten returns the pattern of rule i as it stands in the file.
func (r *Rules) asWritten(i int) string {
	spellings := r.rules[r.count : len(r.rules)-1]
	at, ok := slices.BinarySearchFunc(spellings, uint32(i), func(s rule, i uint32) int { return cmp.Compare(s.about, i) })
	if ok {
		i = int(r.count) + at
	}
	return r.pattern(i)
}

// Size returns how many bytes of memory the Rules keep, for a cache that has to know.
func (r *Rules) Size() int {
	r.ready()
	size := int(unsafe.Sizeof(*r)) + len(r.text) + sizeOf(r.agents) + sizeOf(r.rules)
	for _, a := range r.agents {
		size += len(a.Value)
	}
	if r.pending != nil {
		size += int(unsafe.Sizeof(*r.pending))
	}
	if x := r.index; x != nil {
		size += int(unsafe.Sizeof(*x)) + sizeOf(x.nodes) + sizeOf(x.sets)
		size += sizeOf(x.filter) + sizeOf(x.starts) + sizeOf(x.entries)
	}
	return size
}

// sizeOf returns how many bytes a slice's array takes.
func sizeOf[E any](s []E) int {
	var e E
	return cap(s) * int(unsafe.Sizeof(e))
}
