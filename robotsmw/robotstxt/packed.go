package robotstxt

import "encoding/binary"

// Rules are packed: they stand one behind the other in one string, because most groups have a few short rules, and
// pointers and indexes to them would take more room than they do. A rule goes by the place at which it begins.
//
// It begins with a head, which is followed by its pattern in the form of escape.go. Rare is the rule whose pattern is
// too long for a head to tell its length, or is spelled otherwise in the file. There, between head and pattern, stand
// the lengths of both, four octets each, and the spelling comes last; a length of 0 tells that there is none.
type head uint64

const (
	tagBits    = 8  // what an index tells rules apart by, before it looks at their patterns
	lineBits   = 19 // the line, counted from 1
	lengthBits = 11 // how many octets the pattern has

	headAllow  = 1 << tagBits // whether it is an Allow
	headRare   = 2 << tagBits
	lineShift  = tagBits + 2
	lengthFrom = lineShift + lineBits
	maxLength  = 1<<lengthBits - 1

	headSize    = (lengthFrom + lengthBits) / 8
	lengthsSize = 8                               // the two lengths of a rare rule
	_           = uint(1<<lineBits - MaxSize - 2) // there are not more lines than that
)

// tagWild marks the rules that need their wildcards, in the tag, as long as no index needs that.
const tagWild = 1

// padding lets load64 read the head of a short rule at the end, and the pattern.
const padding = 7

// A packedRule is a rule that has been found again.
type packedRule struct {
	head
	pattern string
	next    int // where the rule behind it begins
}

func (h head) allows() bool { return h&headAllow != 0 }

func (h head) line() int { return int(h >> lineShift & (1<<lineBits - 1)) }

func (h head) tag() byte { return byte(h) }

// length returns the pattern's length; for a rare rule, it is not here.
func (h head) length() int { return int(h >> lengthFrom & maxLength) }

// appendRule packs a rule.
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

// packedSize returns how many octets appendRule appends.
func packedSize(pattern, spelled int) int {
	if pattern > maxLength || spelled > 0 {
		return headSize + lengthsSize + pattern + spelled
	}
	return headSize + pattern
}

// rule returns the rule at a place.
func (r *Rules) rule(at int) packedRule {
	h := head(load64(r.text[at:]))
	if h&headRare != 0 {
		p, _ := r.rareRule(at)
		return p
	}
	from := at + headSize
	to := from + h.length()
	return packedRule{h, r.text[from:to], to}
}

// rareRule returns a rare rule and its spelling.
func (r *Rules) rareRule(at int) (p packedRule, spelled string) {
	lengths := load64(r.text[at+headSize:])
	from := at + headSize + lengthsSize
	middle := from + int(uint32(lengths))
	to := middle + int(lengths>>32)
	return packedRule{head(load64(r.text[at:])), r.text[from:middle], to}, r.text[middle:to]
}

// asWritten returns the pattern of the rule at a place as it stands in the file.
func (r *Rules) asWritten(at int) string {
	p := r.rule(at)
	if p.head&headRare != 0 {
		if _, spelled := r.rareRule(at); spelled != "" {
			return spelled
		}
	}
	return p.pattern
}

// end returns where the last rule ends.
func (r *Rules) end() int { return max(len(r.text)-padding, 0) }

// overrides reports whether p decides where both p and q match: RFC 9309 §2.2.2 gives precedence to the longest
// pattern, and to Allow among equals. Rules that say the same are told apart by their lines.
func (p *packedRule) overrides(q *packedRule) bool {
	if len(p.pattern) != len(q.pattern) {
		return len(p.pattern) > len(q.pattern)
	}
	if p.allows() != q.allows() {
		return p.allows()
	}
	return p.line() < q.line()
}

// better returns the one of two rules that overrides the other. best may be none.
func (r *Rules) better(at, best int) int {
	if best >= 0 && best != at {
		p, q := r.rule(at), r.rule(best)
		if q.overrides(&p) {
			return best
		}
	}
	return at
}
