package match

import (
	"slices"
	"sync"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Builder collects the rules of a group. A pool keeps Builders, so that their
// buffers can be used again.
type Builder struct {
	set   Set // without its rules and its text
	rules []rule
	text  []byte
}

var builders = sync.Pool{New: func() any { return new(Builder) }}

// NewBuilder returns a Builder for a group of a file in this dialect.
func NewBuilder(dialect syntax.Dialect) *Builder {
	b := builders.Get().(*Builder)
	b.set, b.rules, b.text = Set{dialect: dialect}, b.rules[:0], b.text[:0]
	return b
}

// Add adds a rule. It ignores a rule whose pattern cannot match anything.
func (b *Builder) Add(pattern string, line uint32, allow bool) {
	if !CanMatch(pattern) {
		return
	}
	if b.set.dialect == syntax.RFC9309 {
		if special, ok := isCanonical(pattern); ok {
			b.text = append(b.text, pattern...)
			b.add(len(pattern), special, line, allow)
			return
		}
	}
	if b.set.dialect == syntax.Google && allow {
		if directory, ok := directoryOfIndex(pattern); ok {
			b.addForm(directory, pattern, line, allow)
		}
	}
	b.addForm(pattern, pattern, line, allow)
}

// addForm adds a rule after bringing its pattern into the form that the dialect
// compares.
func (b *Builder) addForm(pattern, written string, line uint32, allow bool) {
	from := len(b.text)
	b.text = AppendPattern(b.text, pattern, b.set.dialect)
	form := AsString(b.text[from:])
	b.add(len(form), firstSpecial(form), line, allow)
	if form != written {
		b.text = append(b.text, written...)
	}
}

// add adds a rule with the pattern in the last bytes of the text. special is
// the index of the first byte that does not stand for itself.
func (b *Builder) add(nbytes, special int, line uint32, allow bool) {
	from := len(b.text) - nbytes
	form := AsString(b.text[from:])
	r := rule{from: uint32(from), rank: rank(nbytes)<<lenShift | bit(allow, allowBit) | rank(maxLine-line)<<lineShift}
	if special < nbytes-1 {
		r.key = uint32(neededBy(form))
		r.rank |= 1 << wildBit
		b.set.wild = true
	} else {
		n := max(min(special, 5), 1)
		r.key = beginOf(form[:n])
		r.rank |= bit(special == nbytes, plainBit) | rank(8*(n-1))
	}
	if r.rank.has(wildBit) || r.key == 0 {
		b.set.secondBytes = allBytes
	} else {
		b.set.secondBytes.add(byte(r.key))
	}
	b.rules = append(b.rules, r)
}

// Set returns the Set of all added rules, and puts the Builder back into the
// pool.
func (b *Builder) Set() Set {
	set := b.set
	if len(b.rules) > 0 {
		set.rules, set.text = slices.Clone(b.rules), string(b.text)
	}
	builders.Put(b)
	return set
}
