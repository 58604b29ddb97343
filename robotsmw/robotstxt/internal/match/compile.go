package match

import (
	"slices"
	"strings"
	"sync"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Compiler makes a [Set] from the rules of a group. A pool keeps Compilers,
// so that their buffers can be used again.
type Compiler struct {
	dialect syntax.Dialect
	text    []byte // the packed rules
	form    []byte // a buffer for a pattern in the form that the dialect compares
	count   int    // how many rules there are
	nbytes  int    // the length of all patterns together, in bytes, as the file writes them
	keyed   int    // how many keys and passages (see prefix.go) the filter must have room for
	wild    int    // how many rules have wildcards
	eager   bool   // whether targets must be compared in canonical form
	loose   []looseRule
}

var compilers = sync.Pool{New: func() any { return new(Compiler) }}

// NewCompiler returns a Compiler for a group of a file in this dialect.
func NewCompiler(dialect syntax.Dialect) *Compiler {
	c := compilers.Get().(*Compiler)
	*c = Compiler{dialect: dialect, text: c.text[:0], form: c.form, loose: c.loose}
	return c
}

// Add adds a rule. It ignores a rule whose pattern cannot match anything.
func (c *Compiler) Add(pattern string, line uint32, allow bool) {
	if !CanMatch(pattern) {
		return
	}
	c.nbytes += len(pattern)
	h := head(line) << lineShift
	if allow {
		h |= headAllow
	}
	switch {
	case c.dialect == syntax.Google:
		if directory, ok := directoryOfIndex(pattern); ok && allow {
			c.reform(h, directory, pattern)
		}
		c.reform(h, pattern, pattern)
	case c.dialect == syntax.Koster1996:
		c.reform(h, pattern, pattern)
	case arePlain(pattern): // so it has no "*"
		c.packLiteral(h, pattern, "")
	case isCanonical(pattern):
		c.eager = c.eager || needsWild(pattern) || strings.IndexByte(pattern, '%') >= 0
		c.pack(h, pattern, "")
	default:
		c.reform(h, pattern, pattern)
	}
}

// reform adds a rule after bringing its pattern into the form that the dialect
// compares.
func (c *Compiler) reform(h head, pattern, written string) {
	c.eager = true
	c.form = AppendPattern(c.form[:0], pattern, c.dialect)
	form := asString(c.form)
	if form == written {
		written = ""
	}
	c.pack(h, form, written)
}

func (c *Compiler) pack(h head, pattern, spelled string) {
	if needsWild(pattern) {
		c.wild++
		c.append(h|tagWild, pattern, spelled)
		return
	}
	c.packLiteral(h, pattern, spelled)
}

func (c *Compiler) packLiteral(h head, pattern, spelled string) {
	if prefix := prefixOf(strings.TrimSuffix(pattern, "*")); prefix != "" {
		c.keyed += 1 + passagesOf(prefix)
	}
	c.append(h, pattern, spelled)
}

func (c *Compiler) append(h head, pattern, spelled string) {
	c.text = appendRule(c.text, h, pattern, spelled)
	c.count++
}

// Finish puts the rules into a new Set, and the Compiler back into the pool. If
// the Set needs an index, the index is made later. The Set may be part of a
// larger struct. The last argument is the memory of this struct without the
// Set, in bytes. memoryBound limits the memory of the struct, the Set and the
// index together.
func (c *Compiler) Finish(s *Set, besides int) {
	s.dialect = c.dialect
	if c.count > 0 {
		c.text = append(c.text, make([]byte, padding)...)
		s.text, s.some, s.eager = packed(asString(c.text)), true, c.eager
		switch {
		case c.dialect == syntax.Koster1996:
			s.text = packed(strings.Clone(string(s.text)))
		case c.needsIndex(besides):
			sizes := sizesFor(c.count, c.keyed, c.wild)
			size := fixedSize + len(s.text)
			sizes.fit((memoryBound(c.nbytes) - besides - size) / wordSize)
			s.index.Store(&index{
				rules: packed(strings.Clone(string(s.text))),
				most:  uint32(size + wordSize*sizes.words()),
			})
			s.text = ""
		default:
			s.text = c.ranked(s.text)
			if second, few := s.text.atFirstSight(); few && !s.eager {
				s.second, s.few = second, true
			}
		}
	}
	compilers.Put(c)
}

// A group of at most maxTried rules never gets an index.
const maxTried = 8

// A group of more than manyTried rules always gets an index. A smaller group of
// more than maxTried rules gets an index only if the Set stays within
// memoryBound with the smallest possible index.
const manyTried = 32

func (c *Compiler) needsIndex(besides int) bool {
	if c.count <= maxTried || c.count > manyTried {
		return c.count > maxTried
	}
	smallest := indexSizes{1, 1, 1}
	return fixedSize+besides+wordSize*smallest.words()+len(c.text) <= memoryBound(c.nbytes)
}

// The method "ranked" packs rules again, so that each rule comes before those
// that it overrides.
func (c *Compiler) ranked(rules packed) packed {
	c.loose = rules.unpack(c.loose[:0])
	slices.SortFunc(c.loose, func(p, q looseRule) int { return compare(&p, &q) })
	text := make([]byte, 0, len(rules))
	for i := range c.loose {
		text = c.loose[i].appendTagged(text, c.loose[i].tag())
	}
	clear(c.loose) // otherwise the loose rules would keep the text in memory
	return packed(asString(text[:len(rules)]))
}
