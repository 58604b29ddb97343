package match

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A Builder collects the rules of a group.
type Builder struct {
	dialect syntax.Dialect
	rules   []rule
	text    []byte
	wild    bool // whether a rule is wild
}

// NewBuilder returns a Builder for a group of a file in this dialect. It has
// room for so many rules, and so many bytes of patterns.
func NewBuilder(dialect syntax.Dialect, rules, nbytes int) Builder {
	return Builder{dialect: dialect, rules: make([]rule, 0, rules), text: make([]byte, 0, nbytes)}
}

// Add adds a rule. It ignores a rule whose pattern cannot match anything.
func (b *Builder) Add(pattern string, line uint32, allow bool) {
	if !CanMatch(pattern) {
		return
	}
	if directory, ok := directoryOfIndex(pattern); ok && allow && b.dialect == syntax.Google {
		b.add(directory, pattern, line, allow)
	}
	b.add(pattern, pattern, line, allow)
}

func (b *Builder) add(pattern, written string, line uint32, allow bool) {
	from := len(b.text)
	if arePlain(pattern) && b.dialect == syntax.RFC9309 {
		b.text = append(b.text, pattern...)
	} else {
		b.text = AppendPattern(b.text, pattern, b.dialect)
	}
	form := b.text[from:]
	r := rule{from: uint32(from)}
	r.rank = rank(len(form))<<lenShift | bit(allow, allowBit) | rank(maxLine-line)<<lineShift
	if first := firstSpecial(form); first < len(form)-1 && b.dialect != syntax.Koster1996 {
		r.key = uint32(neededBy(form))
		r.rank |= 1<<wildBit | 32
		b.wild = true
	} else {
		n := max(min(first, 5)-1, 0)
		r.key = beginOf(asString(form[:n+1]))
		r.rank |= bit(first == len(form), plainBit) | rank(8*n)
	}
	b.rules = append(b.rules, r)
	if string(form) != written {
		b.text = append(b.text, written...)
	}
}

// Set returns the Set of all added rules. The Builder must not be used again.
func (b *Builder) Set() Set { return Set{b.rules, asString(b.text), b.dialect, b.wild} }
