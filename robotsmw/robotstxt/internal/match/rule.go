package match

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A rule has only numbers. Its pattern is in the text of its Set, in the form
// that the dialect compares. If the file spells the pattern in another way,
// this spelling follows the pattern.
type rule struct {
	rank rank
	from uint32 // where the pattern begins in the text

	// What a target must have to match: if the rule is wild, the bytes of the
	// pattern, as a byteSet; otherwise the pattern's beginning (see beginOf).
	key uint32
}

// A rank orders the rules that match a target: the one with the greatest rank
// decides. From its highest bits to its lowest, a rank has:
//
//   - the length of the pattern, because the longest pattern decides (RFC 9309
//     §2.2.2);
//   - whether the rule is an Allow, because an Allow decides among patterns of
//     equal length;
//   - the complement of the line number, because the first of several rules
//     decides that are equal in all of this;
//   - three numbers that say nothing about the order: whether the pattern is
//     plain (it has no "*" and no "$"), whether it is wild (it has a "*" before
//     its last byte), and how many bits of the key count.
type rank uint64

const (
	keyBits   = 6
	wildBit   = keyBits
	plainBit  = wildBit + 1
	lineShift = plainBit + 1
	lineBits  = 19
	maxLine   = 1<<lineBits - 1
	allowBit  = lineShift + lineBits
	lenShift  = allowBit + 1

	_ = uint(maxLine - syntax.MaxSize - 1) // compiles only if each line number fits
)

func bit(is bool, n int) rank {
	if is {
		return 1 << n
	}
	return 0
}

func (r rank) has(bit int) bool { return r>>bit&1 != 0 }
func (r rank) nbytes() int      { return int(r >> lenShift) }
func (r rank) line() int        { return maxLine - int(r>>lineShift&maxLine) }

// keyMask has the bits of rule.key that count.
func (r rank) keyMask() uint32 { return uint32(uint64(1)<<(r&(1<<keyBits-1)) - 1) }

// cannotMatch reports whether a target surely does not match. begin is its
// beginning, and missing has the bytes that it lacks.
func (r *rule) cannotMatch(begin uint32, missing byteSet) bool {
	if r.rank.has(wildBit) {
		return byteSet(r.key)&missing != 0
	}
	return (r.key^begin)&r.rank.keyMask() != 0
}

// beginOf returns the bytes of a target after its first byte, which is always
// "/": four at most. Bytes that it does not have are 0.
func beginOf(target string) (begin uint32) {
	if len(target) > 4 {
		_ = target[4]
		return uint32(target[1]) | uint32(target[2])<<8 | uint32(target[3])<<16 | uint32(target[4])<<24
	}
	for i := 1; i < len(target); i++ {
		begin |= uint32(target[i]) << (8 * (i - 1))
	}
	return begin
}

// A byteSet says which bytes a target has, or must have. Several bytes share a
// bit.
type byteSet uint32

const allBytes = byteSet(1<<32 - 1)

func (s *byteSet) add(c byte)     { *s |= 1 << (c % 32) }
func (s byteSet) has(c byte) bool { return s>>(c%32)&1 != 0 }

// neededBy returns the bytes that a target must have to match a pattern.
func neededBy(pattern string) (set byteSet) {
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '$':
		case eitherEscape:
			i += 2 // the two digits: the target may have another byte instead
		default:
			set.add(c)
		}
	}
	return set
}

func bytesOf(target string) (set byteSet) {
	for i := range len(target) {
		set.add(target[i])
	}
	return set
}

// firstSpecial returns the index of the first byte of a pattern that does not
// stand for itself, or the pattern's length.
func firstSpecial(pattern string) int {
	for i := range len(pattern) {
		if c := pattern[i]; c == '*' || c == '$' || c == eitherEscape {
			return i
		}
	}
	return len(pattern)
}
