package match

import "math/bits"

// Work on rules with wildcards is counted in steps, each of about a nanosecond.
// A target may cost baseWork steps, and workPerByte more for each of its bytes.
// Only a file that was made to keep crawlers busy reaches this limit. The robot
// then cannot tell whether the target is allowed, and does not fetch it.
const (
	baseWork    = 3 << 18
	workPerByte = 16
)

func maxWork(nbytes int) int { return baseWork + workPerByte*nbytes }

// dear is how many steps the first search for a target may take. If this search
// needs more, tryDear begins a second search. The second search knows where the
// target has each byte and gram. Hardly any target needs so many steps.
const dear = 1 << 12

// A search finds the rule that decides about one target. Its fields are set one
// by one, for two reasons: a composite literal would be copied, and a method
// that sets the fields would move the target to the heap.
type search struct {
	rules  packed
	target string
	block  uint64 // the first bytes of the target, up to eight
	left   int    // how many steps the search may still take
	tries  int    // how many tried patterns began like the target; short ones do not count
	pairs  pairSet
	seen   *occurrences // where the target has each byte and gram; nil except in a search of tryDear
}

// spend subtracts steps from s.left, and reports whether s.left was enough.
func (s *search) spend(steps int) bool {
	s.left -= steps
	return s.left >= 0
}

// tryEach tries the rules in s.rules[:end]. Each rule must override those after
// it. tryEach returns the rule that decides: one of these, or the best one so
// far. If the steps do not suffice, it returns TooMuch.
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

// try tries the rule p. If p matches, it returns the place of p. If p does not
// match, it returns the place of the best rule so far. If the steps do not
// suffice, it returns TooMuch.
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

// glance is how many steps mayMatch takes.
const glance = 2

func (s *search) worth(pattern string) int { return len(pattern) + len(s.target)/2 }

// mayMatch returns false if the first bytes show that a pattern does not match.
// begin is the result of packed.begin for the rule.
func (s *search) mayMatch(begin uint64, pattern string) bool {
	star := firstStar(begin)
	if star >= len(pattern) {
		// The pattern is short and has no "*". Ignore its last byte, which may
		// be a "$".
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

// firstStar returns the index of the first "*" among eight bytes, or 8.
func firstStar(block uint64) int {
	x := block ^ '*'*ones
	return bits.TrailingZeros64((x-ones)&^x&highs) / 8
}

// A pairSet says which pairs of neighbouring bytes a target has. Several pairs
// may share a bit. For the first two patterns that begin like the target,
// mayMatch uses no pairSet: for so few patterns, it would cost more than it
// saves.
type pairSet struct {
	bits  [16]uint64
	known bool
}

func pairBit(a, b byte) (word int, bit uint64) {
	i := uint(a)<<3 ^ uint(b)
	return int(i / 64 % 16), 1 << (i % 64)
}

// mayHave takes the part of a pattern after its first "*". It returns false if
// the first two bytes of this part are nowhere next to each other in a target.
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
