package robotstxt

import (
	"slices"
	"strings"
	"sync"
)

// A compiler makes Rules of the lines of a group. What it needs for that it keeps for the next time.
type compiler struct {
	dialect   Dialect
	file      string  // the file's text
	canonical string  // the patterns that have another form in memory, one behind the other
	forms     []byte  // canonical, while it grows
	drafts    []draft // the rules so far
	scratch   []draft
	prefixes  prefixIndex
	kept      int // how many literal rules are in their place, at the beginning of drafts
	keys      []uint64
	grams     gramScratch
	eager     bool // whether some pattern has octets that are not plain
}

var compilers = sync.Pool{New: func() any { return new(compiler) }}

// A draft is a rule on its way into Rules.
type draft struct {
	span          // the pattern in the form of escape.go
	written span  // the pattern as it stands in the file
	prefix  int32 // how long its literalPart is; -1 if it has wildcards that matter
	line    uint32
	allow   bool
	reform  bool // whether span is in compiler.canonical, not in the file
	next    byte // in the leaf of a prefixIndex: the octet at its depth
}

func (c *compiler) reset(file string, dialect Dialect) {
	c.file, c.dialect, c.forms, c.drafts, c.eager = file, dialect, c.forms[:0], c.drafts[:0], false
}

// source returns what a draft's span is a part of.
func (c *compiler) source(d *draft) string {
	if d.reform {
		return c.canonical
	}
	return c.file
}

func (c *compiler) pattern(d *draft) string { return c.source(d)[d.from:d.to] }

func (c *compiler) literal(d *draft) string { return c.source(d)[d.from : d.from+uint32(d.prefix)] }

// overrides reports whether d decides where both d and e match: RFC 9309 §2.2.2 gives precedence to the longest
// pattern, and to Allow among equals. Rules that say the same are told apart by their lines.
func (d *draft) overrides(e *draft) bool {
	if n, m := d.to-d.from, e.to-e.from; n != m {
		return n > m
	}
	if d.allow != e.allow {
		return d.allow
	}
	return d.line < e.line
}

// add adds a rule.
func (c *compiler) add(written span, line uint32, allow bool) {
	pattern := c.file[written.from:written.to]
	if !canMatch(pattern) {
		return
	}
	d := draft{span: written, written: written, prefix: int32(len(pattern)), line: line, allow: allow}
	switch {
	case c.dialect == Google:
		if directory, ok := directoryOfIndex(pattern); ok && allow {
			c.reform(d, directory)
		}
		c.reform(d, pattern)
	case c.dialect == Koster1996:
		c.reform(d, pattern)
	case arePlain(pattern):
		c.drafts = append(c.drafts, d)
	case isCanonical(pattern):
		c.eager = true
		d.prefix = literalLength(pattern)
		c.drafts = append(c.drafts, d)
	default:
		c.reform(d, pattern)
	}
}

// reform adds a rule with a pattern that has another form in memory than in the file.
func (c *compiler) reform(d draft, pattern string) {
	c.eager = true
	d.reform, d.from = true, uint32(len(c.forms))
	switch c.dialect {
	case Google:
		c.forms = appendGooglePattern(c.forms, pattern)
	case Koster1996:
		c.forms = appendKosterPath(c.forms, pattern)
	default:
		c.forms = appendPattern(c.forms, pattern)
	}
	d.to = uint32(len(c.forms))
	form := asString(c.forms[d.from:])
	d.prefix = literalLength(form)
	if d.prefix >= 0 && !arePrintable(form[:d.prefix]) || c.dialect == Koster1996 {
		d.prefix = -1
	}
	c.drafts = append(c.drafts, d)
}

// literalLength returns the length of a pattern's literalPart, or -1 if it has none that prefixIndex can take.
func literalLength(pattern string) int32 {
	if literal, ok := literalPart(pattern); ok && len(pattern)-len(literal) < 1<<starBits {
		return int32(len(literal))
	}
	return -1
}

// finish completes r, at once or, if that takes longer, when r is asked for the first time.
func (c *compiler) finish(r *Rules) {
	c.canonical = string(c.forms)
	if len(c.drafts) > maxLeaf {
		r.pending = c.postpone()
	} else {
		c.compile(r)
		c.lookForFew(r)
	}
	c.release()
}

// lookForFew lets r tell at first sight that a target matches none of a few rules.
func (c *compiler) lookForFew(r *Rules) {
	r.few = len(c.drafts) <= maxFew && !r.eager
	for i := range c.drafts {
		if d := &c.drafts[i]; d.prefix > 1 {
			r.second = r.second.with(c.octet(d, 1))
		} else {
			r.few = false
		}
	}
	for octet := range byte(0x80) {
		if !isPlain(octet) {
			r.second = r.second.with(octet)
		}
	}
}

// release lets go of the file, and gives c to the next who needs one.
func (c *compiler) release() {
	c.file, c.canonical = "", ""
	compilers.Put(c)
}

// compile completes r.
func (c *compiler) compile(r *Rules) {
	literals := 0
	for i := range c.drafts {
		if c.drafts[i].prefix >= 0 {
			c.drafts[i], c.drafts[literals] = c.drafts[literals], c.drafts[i]
			literals++
		}
	}
	wild := c.drafts[literals:]
	if c.dialect != Koster1996 {
		c.sort(wild)
	}
	kept := c.buildPrefixes(literals)
	c.drafts = append(c.drafts[:kept], wild...)
	wild = c.drafts[kept:]

	r.eager = c.eager
	r.root = c.prefixes.nodes[0]
	r.literals, r.count = uint16(kept), uint16(len(c.drafts))
	indexed := len(wild) >= minIndexed && c.dialect != Koster1996
	if len(c.prefixes.nodes) > 1 || indexed {
		r.index = new(index)
	}
	if len(c.prefixes.nodes) > 1 {
		r.index.prefixIndex = prefixIndex{slices.Clone(c.prefixes.nodes), slices.Clone(c.prefixes.sets)}
	}
	if indexed {
		c.buildGrams(&r.index.gramIndex, wild, kept)
	}
	c.layOut(r)
}

// sort puts the rules first that override the others. It sorts numbers in which all that counts is packed.
func (c *compiler) sort(rules []draft) {
	if len(rules) < 2 {
		return
	}
	keys := zeroed(&c.keys, len(rules))
	for i := range rules {
		d := &rules[i]
		length := uint64(3*MaxSize) - uint64(d.to-d.from)
		kind := uint64(1)
		if d.allow {
			kind = 0
		}
		keys[i] = length<<(1+lineBits+16) | kind<<(lineBits+16) | uint64(d.line)<<16 | uint64(i)
	}
	slices.Sort(keys)
	c.scratch = append(c.scratch[:0], rules...)
	for i, key := range keys {
		rules[i] = c.scratch[key&0xffff]
	}
}

// maxFew is how many rules are few.
const maxFew = 4

// layOut copies into r what is to be kept of the rules and of the file.
func (c *compiler) layOut(r *Rules) {
	size, spellings := int(r.literals)+padding, 0
	for i := range c.drafts {
		d := &c.drafts[i]
		size += d.span.len()
		if d.reform {
			size += d.written.len()
			spellings++
		}
	}
	var text strings.Builder
	text.Grow(size)
	for i := range c.drafts[:r.literals] {
		text.WriteByte(c.drafts[i].next)
	}
	r.rules = make([]rule, 0, len(c.drafts)+spellings+1)
	for i := range c.drafts {
		d := &c.drafts[i]
		about := d.line << (starBits + 1)
		if d.allow {
			about |= 1
		}
		if d.prefix >= 0 {
			about |= (d.to - d.from - uint32(d.prefix)) << 1
		}
		r.rules = append(r.rules, rule{uint32(text.Len()), about})
		text.WriteString(c.pattern(d))
	}
	if spellings > 0 {
		for i := range c.drafts {
			if d := &c.drafts[i]; d.reform {
				r.rules = append(r.rules, rule{uint32(text.Len()), uint32(i)})
				text.WriteString(c.file[d.written.from:d.written.to])
			}
		}
	}
	r.rules = append(r.rules, rule{start: uint32(text.Len())})
	text.WriteString(zeros[:padding])
	r.text = text.String()
}

// padding is what lets findOctet look at eight octets where there are fewer.
const padding = 7

const zeros = "\x00\x00\x00\x00\x00\x00\x00"
