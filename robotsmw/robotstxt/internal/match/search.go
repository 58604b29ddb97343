package match

import "math/bits"

// What rules with wildcards cost for one target is counted in steps, each of
// about a nanosecond, and there is an end to them: baseWork, and workPerByte
// for each byte of the target. No file that means well comes near. Those that
// go further exist to make a crawler work, and a robot that cannot tell stays
// out.
const (
	baseWork    = 3 << 18
	workPerByte = 16
)

// maxWork is how many steps a target of some bytes may cost.
func maxWork(nbytes int) int { return baseWork + workPerByte*nbytes }

// dear is how many steps hardly any target needs.
const dear = 1 << 12

// A search is the search for the rule that decides about one target. It is
// filled in by field, since a literal would be copied, and a method would make
// the target move to the heap.
type search struct {
	rules  packed
	target string
	block  uint64 // what the target begins with
	left   int    // of the steps it may take
	tries  int    // how many patterns have been compared with the whole target
	pairs  pairSet
	seen   *occurrences // in the target, if the search is a dear one
}

// spend reports whether there was something left.
func (s *search) spend(steps int) bool {
	s.left -= steps
	return s.left >= 0
}

// tryEach tries the rules up to a place, of which those that override the
// others come first.
func (s *search) tryEach(end, best int) int {
	for at := 0; at < end; {
		p := s.rules.rule(at)
		if s.rules.isOverridden(&p, best) {
			break
		}
		if best = s.try(at, &p, best); best == at || best == TooMuch {
			break
		}
		at = p.next
	}
	return best
}

// try returns the place of a rule if it matches; else best, or TooMuch.
func (s *search) try(at int, p *packedRule, best int) int {
	if !s.mayMatch(s.rules.begin(at, p.head), p.pattern) {
		if !s.spend(glance) {
			return TooMuch
		}
		return best
	}
	if s.seen != nil {
		if !s.spend(len(p.pattern)) {
			return TooMuch
		}
		if !s.seen.allow(s.target, p.pattern) {
			return best
		}
	}
	switch matches, paid := matchesWild(p.pattern, s.target), s.spend(s.worth(p.pattern)); {
	case !paid:
		return TooMuch
	case matches:
		return at
	}
	return best
}

// glance is how many steps mayMatch takes, and worth how many it takes to
// compare a pattern with the whole target.
const glance = 2

func (s *search) worth(pattern string) int { return len(pattern) + len(s.target)/2 }

// mayMatch reports whether a pattern, of which the first bytes are given, may
// match, as far as a glance tells. Most do not.
func (s *search) mayMatch(begin uint64, pattern string) bool {
	star := firstStar(begin)
	if star >= len(pattern) {
		// There is none, and the last byte may be a "$".
		return (begin^s.block)&(1<<(8*(len(pattern)-1))-1) == 0
	}
	if (begin^s.block)&(1<<(8*star)-1) != 0 {
		return false
	}
	if s.tries++; s.tries <= 2 || star == blockSize {
		return true
	}
	return s.pairs.mayHave(pattern[star+1:], s.target)
}

// firstStar returns where the first "*" among eight bytes is, or 8.
func firstStar(block uint64) int {
	x := block ^ '*'*ones
	return bits.TrailingZeros64((x-ones)&^x&highs) / 8
}

// A pairSet tells which two bytes follow each other in a target. Pairs may
// share a bit. To know them is worth it for several patterns.
type pairSet struct {
	bits  [16]uint64
	known bool
}

func pairBit(a, b byte) (word int, bit uint64) {
	i := uint(a)<<3 ^ uint(b)
	return int(i / 64 % 16), 1 << (i % 64)
}

// mayHave reports whether a target may have the two bytes that what follows a
// wildcard begins with.
func (s *pairSet) mayHave(rest, target string) bool {
	if len(rest) < 2 || isSpecial(rest[0]) || isSpecial(rest[1]) {
		return true
	}
	if !s.known {
		s.known = true
		for i := 1; i < len(target); i++ {
			word, bit := pairBit(target[i-1], target[i])
			s.bits[word] |= bit
		}
	}
	word, bit := pairBit(rest[0], rest[1])
	return s.bits[word]&bit != 0
}

// isSpecial reports whether a byte of a pattern does not stand for itself.
func isSpecial(c byte) bool { return c == '*' || c == '$' || c == eitherEscape }
