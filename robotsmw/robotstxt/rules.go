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
	text     string // the rules' patterns in the form of escape.go, in order
	rules    []rule // first those without wildcards, as prefixes needs them, then the others, the longest first
	literals int    // how many have no wildcards that matter
	eager    bool   // whether targets must be in the form of escape.go before they are compared
	delay    time.Duration
	hasDelay bool
	prefixes prefixIndex
	grams    *gramIndex // nil: the rules with wildcards are tried one by one
	written  []written  // by rule
}

// A rule is a line that says Allow or Disallow.
type rule struct {
	start uint32 // its pattern begins at text[start:] and ends where the next one begins
	about uint32 // from the lowest bit: whether it is an Allow, how many "*" its literalPart leaves out, its line
}

const (
	starBits = 12
	lineBits = 32 - starBits - 1
	_        = uint(1<<lineBits - MaxSize - 2) // there are not more lines than that
)

// written is the pattern of a rule for which the form of escape.go is another one than the file's.
type written struct {
	rule    uint16
	pattern string
}

// A file of MaxSize octets cannot have more rules than their 16-bit numbers can tell apart.
const _ = uint16((MaxSize + 1) / len("allow:/\n"))

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

// rulesFor returns the rules of the groups that name a token, or nil if none does.
func (f *File) rulesFor(token string) *Rules {
	r := &Rules{}
	var drafts []draft
	var canonical []byte
	for group := range f.groups() {
		if !isFor(group, token) {
			continue
		}
		drafts = slices.Grow(drafts, len(group))
		for i := range group {
			rec := &group[i]
			switch rec.field {
			case fieldUserAgent:
				if names(rec.value, token) {
					r.agents = append(r.agents, UserAgent{rec.value, rec.line})
				}
			case fieldAllow, fieldDisallow:
				if !canMatch(rec.value) {
					continue
				}
				d := draft{text: rec.value, written: rec.value, line: uint32(rec.line), allow: rec.field == fieldAllow}
				if !isCanonical(d.text) {
					canonical = appendPattern(canonical[:0], d.text)
					d.text, r.eager = string(canonical), true
				}
				drafts = append(drafts, d)
			case fieldCrawlDelay:
				if d, ok := parseDelay(rec.value); ok && (!r.hasDelay || d > r.delay) {
					r.delay, r.hasDelay = d, true
				}
			}
		}
	}
	if r.agents == nil {
		return nil
	}
	r.compile(drafts)
	return r
}

// A draft is a rule on its way into Rules.
type draft struct {
	text    string // the pattern in the form of escape.go
	written string // the pattern as it stands in the file
	prefix  int32  // how much of text is its literalPart; -1 if it has wildcards that matter
	line    uint32
	allow   bool
}

func (d *draft) literal() string { return d.text[:d.prefix] }

// overrides reports whether d decides where both d and e match: RFC 9309 §2.2.2 gives precedence to the longest
// pattern, and to Allow among equals. Rules that say the same are told apart by their lines.
func (d *draft) overrides(e *draft) bool {
	if len(d.text) != len(e.text) {
		return len(d.text) > len(e.text)
	}
	if d.allow != e.allow {
		return d.allow
	}
	return d.line < e.line
}

// compile takes over the drafts.
func (r *Rules) compile(drafts []draft) {
	for i := range drafts {
		drafts[i].prefix = -1
		if literal, ok := literalPart(drafts[i].text); ok && len(drafts[i].text)-len(literal) < 1<<starBits {
			drafts[i].prefix = int32(len(literal))
			drafts[i], drafts[r.literals] = drafts[r.literals], drafts[i]
			r.literals++
		}
	}
	wild := drafts[r.literals:]
	r.prefixes, drafts = buildPrefixIndex(drafts[:r.literals])
	r.literals = len(drafts)
	if len(wild) > 0 {
		r.eager = true
		slices.SortFunc(wild, func(d, e draft) int {
			if d.overrides(&e) {
				return -1
			}
			return 1
		})
	}
	if len(wild) >= minIndexed {
		r.grams = buildGramIndex(wild, r.literals)
	}
	r.layOut(append(drafts, wild...))
}

// layOut copies what is to be kept, so that the file's text can go.
func (r *Rules) layOut(drafts []draft) {
	size := 0
	for _, a := range r.agents {
		size += len(a.Value)
	}
	for i := range drafts {
		d := &drafts[i]
		size += len(d.text)
		if d.text != d.written {
			size += len(d.written)
		}
	}
	var text strings.Builder
	text.Grow(size)
	r.rules = make([]rule, len(drafts)+1)
	for i := range drafts {
		d := &drafts[i]
		about := d.line << (starBits + 1)
		if d.allow {
			about |= 1
		}
		if d.prefix >= 0 {
			about |= uint32(len(d.text)-int(d.prefix)) << 1
		}
		r.rules[i] = rule{uint32(text.Len()), about}
		text.WriteString(d.text)
	}
	r.rules[len(drafts)].start = uint32(text.Len())
	keep := func(s string) string {
		start := text.Len()
		text.WriteString(s)
		return text.String()[start:]
	}
	for i := range drafts {
		if d := &drafts[i]; d.text != d.written {
			r.written = append(r.written, written{uint16(i), keep(d.written)})
		}
	}
	for i := range r.agents {
		r.agents[i].Value = keep(r.agents[i].Value)
	}
	r.text = text.String()
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

// count returns how many rules there are.
func (r *Rules) count() int { return max(0, len(r.rules)-1) }

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
	at, found := slices.BinarySearchFunc(r.written, uint16(i), func(w written, i uint16) int { return cmp.Compare(w.rule, i) })
	if found {
		return r.written[at].pattern
	}
	return r.pattern(i)
}

// Size returns how many bytes of memory the Rules keep, for a cache that has to know.
func (r *Rules) Size() int {
	size := int(unsafe.Sizeof(*r)) + len(r.text) + sizeOf(r.agents) + sizeOf(r.rules) + sizeOf(r.written) +
		sizeOf(r.prefixes.nodes) + sizeOf(r.prefixes.labels) + sizeOf(r.prefixes.next)
	if x := r.grams; x != nil {
		size += int(unsafe.Sizeof(*x)) + sizeOf(x.filter) + sizeOf(x.starts) + sizeOf(x.entries) + sizeOf(x.always)
	}
	return size
}

// sizeOf returns how many bytes a slice's array takes.
func sizeOf[E any](s []E) int {
	var e E
	return cap(s) * int(unsafe.Sizeof(e))
}
