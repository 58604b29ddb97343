package robotstxt

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// A compiler makes Rules of the lines of a group. What it needs for that it keeps for the next time.
type compiler struct {
	dialect Dialect
	file    string  // the file's text
	forms   []byte  // the patterns that have another form in memory than in the file, one behind the other
	drafts  []draft // the rules so far
	octets  int     // of their patterns, as written
	eager   bool    // whether targets must be in the form of escape.go before they are compared
	filer   filer
}

var compilers = sync.Pool{New: func() any { return new(compiler) }}

// A draft is a rule on its way into Rules.
type draft struct {
	pattern span // in the form of escape.go
	written span // as it stands in the file
	line    uint32
	allow   bool
	reform  bool // whether pattern is a part of compiler.forms, not of the file
	literal bool // whether its literalPart is all that it comes down to
}

func (c *compiler) reset(file string, dialect Dialect) {
	c.file, c.dialect, c.forms, c.drafts, c.octets, c.eager = file, dialect, c.forms[:0], c.drafts[:0], 0, false
}

func (c *compiler) pattern(d *draft) string {
	if d.reform {
		return asString(c.forms[d.pattern.from:d.pattern.to])
	}
	return c.file[d.pattern.from:d.pattern.to]
}

func (c *compiler) spelled(d *draft) string {
	if d.reform {
		return c.file[d.written.from:d.written.to]
	}
	return ""
}

// add adds a rule.
func (c *compiler) add(written span, line uint32, allow bool) {
	pattern := c.file[written.from:written.to]
	if !canMatch(pattern) {
		return
	}
	c.octets += len(pattern)
	d := draft{pattern: written, written: written, line: line, allow: allow, literal: true}
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
		_, d.literal = literalPart(pattern)
		c.eager = c.eager || !d.literal || strings.HasSuffix(pattern, "**") // tryLiterals knows of one "*" only
		c.drafts = append(c.drafts, d)
	default:
		c.reform(d, pattern)
	}
}

// reform adds a rule with a pattern that has another form in memory than in the file.
func (c *compiler) reform(d draft, pattern string) {
	c.eager = true
	start := len(c.forms)
	switch c.dialect {
	case Google:
		c.forms = appendGooglePattern(c.forms, pattern)
	case Koster1996:
		c.forms = appendKosterPath(c.forms, pattern)
	default:
		c.forms = appendPattern(c.forms, pattern)
	}
	form := asString(c.forms[start:])
	_, d.literal = literalPart(form)
	if form == c.file[d.written.from:d.written.to] {
		c.forms = c.forms[:start]
	} else {
		d.pattern, d.reform = span{uint32(start), uint32(len(c.forms))}, true
	}
	c.drafts = append(c.drafts, d)
}

// finish completes r, but for its index, and gives c to the next who needs one.
func (c *compiler) finish(r *Rules) {
	r.eager, r.some = c.eager, len(c.drafts) > 0
	if c.dialect != Koster1996 {
		if c.needsIndex(r) {
			r.index = new(index)
		} else {
			c.sort()
			c.lookForFew(r)
		}
	}
	if r.some {
		c.pack(r)
	}
	c.file = ""
	compilers.Put(c)
}

// sort puts the rules first that override the others.
func (c *compiler) sort() {
	slices.SortFunc(c.drafts, func(d, e draft) int {
		if n := cmp.Compare(e.pattern.len(), d.pattern.len()); n != 0 {
			return n
		}
		if d.allow != e.allow {
			if d.allow {
				return -1
			}
			return 1
		}
		return cmp.Compare(d.line, e.line)
	})
}

// size returns how many octets the rules take when they are packed.
func (c *compiler) size() int {
	size := padding
	for i := range c.drafts {
		d := &c.drafts[i]
		spelled := 0
		if d.reform {
			spelled = d.written.len()
		}
		size += packedSize(d.pattern.len(), spelled)
	}
	return size
}

// pack copies into r what is to be kept of the rules and of the file.
func (c *compiler) pack(r *Rules) {
	size := c.size()
	text := make([]byte, 0, size)
	for i := range c.drafts {
		d := &c.drafts[i]
		h := head(d.line) << lineShift
		if d.allow {
			h |= headAllow
		}
		if !d.literal {
			h |= tagWild
		}
		text = appendRule(text, h, c.pattern(d), c.spelled(d))
	}
	r.text = asString(text[:size])
}

// tagWild marks the rules that need their wildcards, in the tag, as long as no index does.
const tagWild = 1
