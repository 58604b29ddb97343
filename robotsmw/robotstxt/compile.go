package robotstxt

import (
	"strings"
	"sync"
)

// A compiler makes Rules of the lines of a group. What it needs for that it keeps for the next time.
type compiler struct {
	dialect Dialect
	text    []byte // the rules so far, packed
	form    []byte // of a pattern that has another form in memory than in the file
	count   int    // how many rules there are
	octets  int    // of their patterns, as written
	eager   bool   // whether targets must be in the form of escape.go before they are compared
	filer   filer
}

var compilers = sync.Pool{New: func() any { return new(compiler) }}

func newCompiler(dialect Dialect) *compiler {
	c := compilers.Get().(*compiler)
	c.dialect, c.text, c.count, c.octets, c.eager = dialect, c.text[:0], 0, 0, false
	return c
}

// add adds a rule.
func (c *compiler) add(pattern string, line uint32, allow bool) {
	if !canMatch(pattern) {
		return
	}
	c.octets += len(pattern)
	h := head(line) << lineShift
	if allow {
		h |= headAllow
	}
	switch {
	case c.dialect == Google:
		if directory, ok := directoryOfIndex(pattern); ok && allow {
			c.reform(h, directory, pattern)
		}
		c.reform(h, pattern, pattern)
	case c.dialect == Koster1996:
		c.reform(h, pattern, pattern)
	case arePlain(pattern):
		c.pack(h, pattern, "")
	case isCanonical(pattern):
		if _, literal := literalPart(pattern); !literal {
			h |= tagWild
		}
		c.eager = c.eager || h&tagWild != 0 || strings.HasSuffix(pattern, "**") // tryLiterals knows of one "*" only
		c.pack(h, pattern, "")
	default:
		c.reform(h, pattern, pattern)
	}
}

// reform adds a rule with a pattern that may have another form in memory than it was written in.
func (c *compiler) reform(h head, pattern, written string) {
	c.eager = true
	switch c.dialect {
	case Google:
		c.form = appendGooglePattern(c.form[:0], pattern)
	case Koster1996:
		c.form = appendKosterPath(c.form[:0], pattern)
	default:
		c.form = appendPattern(c.form[:0], pattern)
	}
	form := asString(c.form)
	if _, literal := literalPart(form); !literal {
		h |= tagWild
	}
	if form == written {
		written = ""
	}
	c.pack(h, form, written)
}

func (c *compiler) pack(h head, pattern, spelled string) {
	c.text = appendRule(c.text, h, pattern, spelled)
	c.count++
}

// finish completes r, but for its index, and gives c to the next who needs one.
func (c *compiler) finish(r *Rules) {
	if c.count > 0 {
		c.text = append(c.text, make([]byte, padding)...)
		r.text, r.some, r.eager = asString(c.text), true, c.eager
		switch {
		case c.dialect == Koster1996:
			r.text = strings.Clone(r.text)
		case c.needsIndex(r):
			r.text, r.index = strings.Clone(r.text), new(index)
		default:
			r.text = c.filer.ranked(r)
			r.lookForFew()
		}
	}
	compilers.Put(c)
}
