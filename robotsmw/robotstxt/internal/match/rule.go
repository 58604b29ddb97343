package match

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A rule is an entry of a Set. It takes 16 bytes and contains no pointers, so
// that the rules of a large group fit in the cache.
type rule struct {
	rank rank

	// start is the position of the normalized pattern in the text of the Set.
	// If the pattern in the file differs, it follows the normalized pattern.
	start uint32

	// key excludes most targets that the rule does not match. If the rule is
	// wild, it is the byteSet of the bytes that a target must contain.
	// Otherwise it is the prefixKey of the pattern.
	key uint32
}

// A rank orders the rules that match a target: the rule with the greatest rank
// decides. From the highest bits to the lowest, it consists of:
//
//   - the length of the pattern, because the longest pattern decides (RFC 9309
//     §2.2.2);
//   - allowBit, because an Allow decides among patterns of equal length;
//   - the complement of the line number, because the first of several
//     equivalent rules decides.
//
// The remaining bits do not affect the order. They are stored here to keep
// rules small:
//
//   - literalBit is set if the pattern has no special bytes;
//   - wildBit is set if a special byte precedes the last byte of the pattern;
//   - keyBits is the number of bits of rule.key to compare if the rule is not
//     wild.
type rank uint64

const (
	keyBits    = 6
	wildBit    = keyBits
	literalBit = wildBit + 1
	lineShift  = literalBit + 1
	lineBits   = 19
	maxLine    = 1<<lineBits - 1
	allowBit   = lineShift + lineBits
	lenShift   = allowBit + 1

	_ = uint(maxLine - syntax.MaxSize - 1) // compiles only if all line numbers fit
)

func newRank(patternLen int, allow bool, line uint32) rank {
	r := rank(patternLen)<<lenShift | rank(maxLine-line)<<lineShift
	if allow {
		r |= 1 << allowBit
	}
	return r
}

func (r rank) has(bit int) bool { return r>>bit&1 != 0 }
func (r rank) patternLen() int  { return int(r >> lenShift) }
func (r rank) line() int        { return maxLine - int(r>>lineShift&maxLine) }

// keyMask selects the bits of rule.key to compare.
func (r rank) keyMask() uint32 { return uint32(uint64(1)<<(r&(1<<keyBits-1)) - 1) }

// excludes reports whether the key of the rule excludes a target. prefix is the
// prefixKey of the target, and missing are the bytes that the target lacks.
func (r *rule) excludes(prefix uint32, missing byteSet) bool {
	if r.rank.has(wildBit) {
		return byteSet(r.key)&missing != 0
	}
	return (r.key^prefix)&r.rank.keyMask() != 0
}

// prefixKey returns the second to fifth byte of a target as a little-endian
// number; missing bytes are 0. The first byte is left out because it is always
// "/".
func prefixKey(target string) uint32 {
	if len(target) > 4 {
		_ = target[4]
		return uint32(target[1]) | uint32(target[2])<<8 | uint32(target[3])<<16 | uint32(target[4])<<24
	}
	var key uint32
	for i := 1; i < len(target); i++ {
		key |= uint32(target[i]) << (8 * (i - 1))
	}
	return key
}

// A byteSet is an approximate set of bytes, in which several bytes share a bit.
type byteSet uint32

const allBytes = byteSet(1<<32 - 1)

func (s byteSet) with(c byte) byteSet { return s | 1<<(c%32) }
func (s byteSet) has(c byte) bool     { return s>>(c%32)&1 != 0 }

// requiredBytes returns the bytes that a target must contain to match a
// pattern.
func requiredBytes(pattern string) byteSet {
	var set byteSet
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '$':
		case eitherPercent:
			i += 2 // skip the digits: the target may contain the decoded byte
		default:
			set = set.with(c)
		}
	}
	return set
}

// newByteSet returns the set of the bytes of s.
func newByteSet(s string) byteSet {
	var set byteSet
	for i := range len(s) {
		set = set.with(s[i])
	}
	return set
}

// indexSpecial returns the index of the first special byte of a normalized
// pattern, or its length.
func indexSpecial(pattern string) int {
	for i := range len(pattern) {
		switch pattern[i] {
		case '*', '$', eitherPercent:
			return i
		}
	}
	return len(pattern)
}
