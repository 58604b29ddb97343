package match

import (
	"encoding/binary"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A packed has rules, one behind the other. Most groups have a few short rules,
// and pointers and indexes to rules would take more room than the rules. A rule
// is identified by the place at which it begins. Behind the last rule is
// padding.
type packed string

// A head is the beginning of a packed rule. The rule's pattern in canonical
// form follows. A rule is rare if its pattern is too long for the length in the
// head, or is spelled otherwise in the file. Then the lengths of the pattern
// and of that spelling stand between the head and the pattern, four bytes each,
// and the spelling comes last. If the spelling's length is 0, the pattern is as
// in the file.
type head uint64

const (
	tagBits    = 8  // the tag, by which an index passes over most patterns
	lineBits   = 19 // the line, counted from 1
	lengthBits = 11 // how many bytes the pattern has

	headAllow  = 1 << tagBits // set in an Allow
	headRare   = 2 << tagBits
	lineShift  = tagBits + 2
	lengthFrom = lineShift + lineBits
	maxLength  = 1<<lengthBits - 1

	headSize    = (lengthFrom + lengthBits) / 8
	lengthsSize = 8                                      // the two lengths of a rare rule
	_           = uint(1<<lineBits - syntax.MaxSize - 2) // compiles only if there is room for each line's number
)

// tagWild is the tag of the rules that have to be matched with their wildcards.
// In an index, the rules in buckets have other tags, from tagOf.
const tagWild = 1

// padding is how many bytes follow the last rule. With them, load64 can read
// eight bytes from the beginning of each head and of each pattern.
const padding = 7

// A packedRule is a rule that has been read from a packed.
type packedRule struct {
	head
	pattern string
	next    int // where the next rule begins
}

func (h head) allows() bool { return h&headAllow != 0 }

func (h head) line() int { return int(h >> lineShift & (1<<lineBits - 1)) }

func (h head) tag() byte { return byte(h) }

// length returns the pattern's length. For a rare rule it returns 0.
func (h head) length() int { return int(h >> lengthFrom & maxLength) }

// appendRule packs a rule. spelled is its pattern as written in the file, or ""
// if that is the same.
func appendRule(b []byte, h head, pattern, spelled string) []byte {
	if len(pattern) > maxLength || spelled != "" {
		h |= headRare
	} else {
		h |= head(len(pattern)) << lengthFrom
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(h))[:len(b)+headSize]
	if h&headRare != 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(pattern)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(spelled)))
	}
	return append(append(b, pattern...), spelled...)
}

// packedSize returns how many bytes appendRule appends for a pattern and a
// spelling of these lengths.
func packedSize(pattern, spelled int) int {
	if pattern > maxLength || spelled > 0 {
		return headSize + lengthsSize + pattern + spelled
	}
	return headSize + pattern
}

// rule returns the rule at a place.
func (t packed) rule(at int) packedRule {
	h := head(load64(string(t[at:])))
	if h&headRare != 0 {
		p, _ := t.rareRule(at)
		return p
	}
	from := at + headSize
	to := from + h.length()
	return packedRule{h, string(t[from:to]), to}
}

// begin returns the first eight bytes of the pattern of the rule at a place. If
// the pattern is shorter, the bytes behind it follow.
func (t packed) begin(at int, h head) uint64 {
	at += headSize
	if h&headRare != 0 {
		at += lengthsSize
	}
	return load64(string(t[at:]))
}

// rareRule returns a rare rule and its spelling.
func (t packed) rareRule(at int) (p packedRule, spelled string) {
	lengths := load64(string(t[at+headSize:]))
	from := at + headSize + lengthsSize
	middle := from + int(uint32(lengths))
	to := middle + int(lengths>>32)
	return packedRule{head(load64(string(t[at:]))), string(t[from:middle]), to}, string(t[middle:to])
}

// asWritten returns the pattern of the rule at a place as it stands in the
// file.
func (t packed) asWritten(at int) string {
	p := t.rule(at)
	if p.head&headRare != 0 {
		if _, spelled := t.rareRule(at); spelled != "" {
			return spelled
		}
	}
	return p.pattern
}

// end returns where the last rule ends.
func (t packed) end() int { return max(len(t)-padding, 0) }

// overrides reports whether p decides if both p and q match. RFC 9309 §2.2.2
// gives precedence to the longest pattern, and to Allow among patterns of equal
// length. Of two Allows or two Disallows with equal lengths, the one that comes
// first in the file decides.
func (p *packedRule) overrides(q *packedRule) bool {
	if len(p.pattern) != len(q.pattern) {
		return len(p.pattern) > len(q.pattern)
	}
	if p.allows() != q.allows() {
		return p.allows()
	}
	return p.line() < q.line()
}

// better returns the one of two rules that overrides the other. best may be
// None.
func (t packed) better(at, best int) int {
	if best >= 0 && best != at {
		p, q := t.rule(at), t.rule(best)
		if q.overrides(&p) {
			return best
		}
	}
	return at
}

// allows reports whether the rule at a place is an Allow.
func (t packed) allows(at int) bool { return head(t[at+1])<<8&headAllow != 0 }

// isOverridden reports whether best overrides a rule. best may be None.
func (t packed) isOverridden(p *packedRule, best int) bool {
	if best < 0 {
		return false
	}
	q := t.rule(best)
	return q.overrides(p)
}

// These stand for a place when no rule decides.
const (
	None    = -1 - iota // no rule matches
	TooMuch             // maxWork is used up
	Itself              // the target is robots.txt itself
)

// A looseRule is a rule that has been unpacked, to be packed again elsewhere.
type looseRule struct {
	packedRule
	spelled string // the pattern in the file; "" if that is the same
}

// unpack appends the rules, in the order in which they are packed.
func (t packed) unpack(rules []looseRule) []looseRule {
	for at, end := 0, t.end(); at < end; {
		p := looseRule{packedRule: t.rule(at)}
		if p.head&headRare != 0 {
			_, p.spelled = t.rareRule(at)
		}
		rules = append(rules, p)
		at = p.next
	}
	return rules
}

// size returns how many bytes appendTagged appends for the rule.
func (p *looseRule) size() int { return packedSize(len(p.pattern), len(p.spelled)) }

// appendTagged packs a rule again, with another tag.
func (p *looseRule) appendTagged(text []byte, tag byte) []byte {
	const kept = 1<<lengthFrom - 1<<tagBits - headRare
	return appendRule(text, p.head&kept|head(tag), p.pattern, p.spelled)
}

// compare orders rules: a rule comes before those that it overrides.
func compare(p, q *looseRule) int {
	switch {
	case p.overrides(&q.packedRule):
		return -1
	case q.overrides(&p.packedRule):
		return 1
	}
	return 0
}

// essence returns the rule's pattern without a "*" at its end, which does not
// change what it matches. Of two rules with the same essence, one never
// decides.
func (p *packedRule) essence() string {
	if literal, ok := literalPart(p.pattern); ok {
		return literal
	}
	return p.pattern
}
