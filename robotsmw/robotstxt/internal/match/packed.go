package match

import (
	"encoding/binary"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A packed is a string of rules, one after the other, with padding at the end.
// A rule is identified by the place at which it begins, so the rules need no
// pointers. Most groups have a few short rules, and pointers would add much to
// their size.
type packed string

// A head is the beginning of a packed rule. The rule's pattern follows the
// head, in the form in which the dialect compares patterns.
//
// A rule is rare in two cases: its pattern is too long for the length in the
// head, or the file spells the pattern in another way. After the head, a rare
// rule has the length of the pattern and the length of its spelling in the
// file, in four bytes each. Then come the pattern and the spelling. If the
// spelling is the same as the pattern, it is left out, and the second length is
// 0.
type head uint64

const (
	tagBits    = 8  // the tag, which lets an index skip most patterns
	lineBits   = 19 // the line number, counted from 1
	lengthBits = 11 // the length of the pattern in bytes

	headAllow  = 1 << tagBits // set in an Allow
	headRare   = 2 << tagBits
	lineShift  = tagBits + 2
	lengthFrom = lineShift + lineBits
	maxLength  = 1<<lengthBits - 1

	headSize    = (lengthFrom + lengthBits) / 8
	lengthsSize = 8                                      // bytes of the two lengths in a rare rule
	_           = uint(1<<lineBits - syntax.MaxSize - 2) // compiles only if each line number fits
)

// tagWild is the tag of rules whose wildcards must be matched. The rules in the
// buckets of an index have another tag: the result of tagOf.
const tagWild = 1

// padding is how many bytes follow the last rule. It lets load64 read eight
// bytes from the beginning of each head and of each pattern.
const padding = 7

type packedRule struct {
	head
	pattern string
	next    int // where the next rule begins
}

func (h head) allows() bool { return h&headAllow != 0 }

func (h head) line() int { return int(h >> lineShift & (1<<lineBits - 1)) }

func (h head) tag() byte { return byte(h) }

func (h head) length() int { return int(h >> lengthFrom & maxLength) }

// appendRule packs a rule. spelled is the pattern as the file spells it, or ""
// if that is the same as pattern.
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

// begin returns the first eight bytes of a rule's pattern, given the place of
// the rule and its head. If the pattern is shorter, the bytes after it are
// included.
func (t packed) begin(at int, h head) uint64 {
	at += headSize
	if h&headRare != 0 {
		at += lengthsSize
	}
	return load64(string(t[at:]))
}

func (t packed) rareRule(at int) (p packedRule, spelled string) {
	lengths := load64(string(t[at+headSize:]))
	from := at + headSize + lengthsSize
	middle := from + int(uint32(lengths))
	to := middle + int(lengths>>32)
	return packedRule{head(load64(string(t[at:]))), string(t[from:middle]), to}, string(t[middle:to])
}

func (t packed) asWritten(at int) string {
	p := t.rule(at)
	if p.head&headRare != 0 {
		if _, spelled := t.rareRule(at); spelled != "" {
			return spelled
		}
	}
	return p.pattern
}

func (t packed) end() int { return max(len(t)-padding, 0) }

// overrides reports whether p decides about a target that p and q both match.
// RFC 9309 §2.2.2 gives precedence to the longest pattern, and to Allow among
// patterns of equal length. Of two Allows or two Disallows with equal lengths,
// the one that comes first in the file decides.
func (p *packedRule) overrides(q *packedRule) bool {
	if len(p.pattern) != len(q.pattern) {
		return len(p.pattern) > len(q.pattern)
	}
	if p.allows() != q.allows() {
		return p.allows()
	}
	return p.line() < q.line()
}

// better compares the rules at two places. It returns the place of the rule
// that overrides the other. If the second place is None, it returns the first.
func (t packed) better(at, best int) int {
	if best >= 0 && best != at {
		p, q := t.rule(at), t.rule(best)
		if q.overrides(&p) {
			return best
		}
	}
	return at
}

func (t packed) allows(at int) bool { return head(t[at+1])<<8&headAllow != 0 }

// isOverridden reports whether the rule at the place best overrides p. It
// returns false if best is None.
func (t packed) isOverridden(p *packedRule, best int) bool {
	if best < 0 {
		return false
	}
	q := t.rule(best)
	return q.overrides(p)
}

// Functions that return the place of the deciding rule return one of these
// values if no rule decides.
const (
	None    = -1 - iota // no rule matches
	TooMuch             // the rules take more steps than maxWork
	Itself              // the target is robots.txt itself
)

// A looseRule is an unpacked rule, to be packed again elsewhere.
type looseRule struct {
	packedRule
	spelled string // the pattern in the file; "" if it is the same as pattern
}

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

func (p *looseRule) size() int { return packedSize(len(p.pattern), len(p.spelled)) }

func (p *looseRule) appendTagged(text []byte, tag byte) []byte {
	const kept = 1<<lengthFrom - 1<<tagBits - headRare
	return appendRule(text, p.head&kept|head(tag), p.pattern, p.spelled)
}

// compare is for sorting: a rule comes before those that it overrides.
func compare(p, q *looseRule) int {
	switch {
	case p.overrides(&q.packedRule):
		return -1
	case q.overrides(&p.packedRule):
		return 1
	}
	return 0
}

// essence returns the rule's pattern without the "*" bytes at its end, which do
// not change what the pattern matches. If another "*" remains, essence returns
// the whole pattern. If two rules have the same essence, one of the two never
// decides.
func (p *packedRule) essence() string {
	if literal, ok := literalPart(p.pattern); ok {
		return literal
	}
	return p.pattern
}
