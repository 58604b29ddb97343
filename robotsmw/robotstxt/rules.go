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
	index    *index        // nil for a small group
	root     prefixNode    // of the literal rules
	literals uint16        // how many rules are literal
	count    uint16        // how many rules there are
	eager    bool          // whether targets must be in the form of escape.go before they are compared
}

// An index is what a group needs that is too large for trying its rules one by one.
type index struct {
	prefixIndex
	grams *gramIndex // nil: the rules with wildcards are tried one by one
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
				if d, ok := parseDelay(rec.value); ok {
					r.delay = max(r.delay, d+1)
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
	literals := 0
	for i := range drafts {
		d := &drafts[i]
		literal, ok := literalPart(d.text)
		if d.prefix = int32(len(literal)); !ok || len(d.text)-len(literal) >= 1<<starBits || !arePrintable(literal) {
			d.prefix = -1
			continue
		}
		drafts[i], drafts[literals] = drafts[literals], drafts[i]
		literals++
	}
	wild := drafts[literals:]
	prefixes, drafts, next := buildPrefixIndex(drafts[:literals])
	slices.SortFunc(wild, func(d, e draft) int {
		if d.overrides(&e) {
			return -1
		}
		return 1
	})
	drafts = append(drafts, wild...)

	r.root = prefixes.nodes[0]
	r.literals, r.count = uint16(len(next)), uint16(len(drafts))
	r.eager = r.eager || len(wild) > 0
	if len(prefixes.nodes) > 1 || len(wild) >= minIndexed {
		r.index = &index{prefixIndex: prefixes}
	}
	if len(wild) >= minIndexed {
		r.index.grams = buildGramIndex(wild, len(next))
	}
	r.layOut(drafts, next)
}

// layOut copies what is to be kept, so that the file's text can go.
func (r *Rules) layOut(drafts []draft, next []byte) {
	size, spellings := len(next)+padding, 0
	for _, a := range r.agents {
		size += len(a.Value)
	}
	for i := range drafts {
		d := &drafts[i]
		size += len(d.text)
		if d.text != d.written {
			size += len(d.written)
			spellings++
		}
	}
	var text strings.Builder
	text.Grow(size)
	text.Write(next)
	r.rules = make([]rule, 0, len(drafts)+spellings+1)
	for i := range drafts {
		d := &drafts[i]
		about := d.line << (starBits + 1)
		if d.allow {
			about |= 1
		}
		if d.prefix >= 0 {
			about |= uint32(len(d.text)-int(d.prefix)) << 1
		}
		r.rules = append(r.rules, rule{uint32(text.Len()), about})
		text.WriteString(d.text)
	}
	for i := range drafts {
		if d := &drafts[i]; d.text != d.written {
			r.rules = append(r.rules, rule{uint32(text.Len()), uint32(i)})
			text.WriteString(d.written)
		}
	}
	r.rules = append(r.rules, rule{start: uint32(text.Len())})
	for i, a := range r.agents {
		start := text.Len()
		text.WriteString(a.Value)
		r.agents[i].Value = text.String()[start:]
	}
	text.WriteString("\x00\x00\x00\x00\x00\x00\x00"[:padding])
	r.text = text.String()
}

// padding is what lets findOctet look at eight octets where there are fewer.
const padding = 7

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
	size := int(unsafe.Sizeof(*r)) + len(r.text) + sizeOf(r.agents) + sizeOf(r.rules)
	if x := r.index; x != nil {
		size += int(unsafe.Sizeof(*x)) + sizeOf(x.nodes) + sizeOf(x.sets)
		if x := x.grams; x != nil {
			size += int(unsafe.Sizeof(*x)) + sizeOf(x.filter) + sizeOf(x.starts) + sizeOf(x.entries) + sizeOf(x.always)
		}
	}
	return size
}

// sizeOf returns how many bytes a slice's array takes.
func sizeOf[E any](s []E) int {
	var e E
	return cap(s) * int(unsafe.Sizeof(e))
}
