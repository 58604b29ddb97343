package match

import (
	"slices"
	"sync"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Builder builds a [Set]. Builders are pooled in order to reuse their
// buffers.
type Builder struct {
	set   Set // without rules and text
	rules []rule
	text  []byte
}

var builders = sync.Pool{New: func() any { return new(Builder) }}

// NewBuilder returns a Builder for a group of a file in the given dialect. The
// caller must call [Builder.Set] when all rules have been added.
func NewBuilder(dialect syntax.Dialect) *Builder {
	b := builders.Get().(*Builder)
	b.set = Set{dialect: dialect}
	b.rules = b.rules[:0]
	b.text = b.text[:0]
	return b
}

// Add adds a rule. Rules that cannot match any target are ignored.
func (b *Builder) Add(pattern string, line uint32, allow bool) {
	if !CanMatch(pattern) {
		return
	}
	if b.set.dialect == syntax.RFC9309 {
		if special, ok := isNormalized(pattern); ok {
			b.text = append(b.text, pattern...)
			b.add(len(pattern), special, line, allow)
			return
		}
	}
	if b.set.dialect == syntax.Google && allow {
		if directory, ok := googleIndexDirectory(pattern); ok {
			b.addNormalized(directory, pattern, line, allow)
		}
	}
	b.addNormalized(pattern, pattern, line, allow)
}

// addNormalized normalizes a pattern and adds a rule with it. raw is the
// pattern in the file.
func (b *Builder) addNormalized(pattern, raw string, line uint32, allow bool) {
	start := len(b.text)
	b.text = AppendPattern(b.text, pattern, b.set.dialect)
	normalized := AsString(b.text[start:])
	b.add(len(normalized), indexSpecial(normalized), line, allow)
	if normalized != raw {
		b.text = append(b.text, raw...)
	}
}

// add adds a rule whose normalized pattern is the last patternLen bytes of
// b.text. special is the index of the first special byte of the pattern, or
// patternLen.
func (b *Builder) add(patternLen, special int, line uint32, allow bool) {
	start := len(b.text) - patternLen
	pattern := AsString(b.text[start:])
	r := rule{start: uint32(start), rank: newRank(patternLen, allow, line)}
	isWild := special < patternLen-1
	if isWild {
		r.key = uint32(requiredBytes(pattern))
		r.rank |= 1 << wildBit
		b.set.hasWild = true
	} else {
		n := max(min(special, 5), 1)
		r.key = prefixKey(pattern[:n])
		r.rank |= rank(8 * (n - 1))
		if special == patternLen {
			r.rank |= 1 << literalBit
		}
	}
	if isWild || r.key == 0 {
		b.set.secondBytes = allBytes
	} else {
		b.set.secondBytes = b.set.secondBytes.with(byte(r.key))
	}
	b.rules = append(b.rules, r)
}

// Set returns a Set of the added rules. The Builder must not be used
// afterwards.
func (b *Builder) Set() Set {
	set := b.set
	if len(b.rules) > 0 {
		set.rules = slices.Clone(b.rules)
		set.text = string(b.text)
	}
	builders.Put(b)
	return set
}
