package match

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

// A search is the search for the rule that decides about one target.
type search struct {
	rules  packed
	target string
	left   int          // of the steps it may take
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
	if s.seen != nil {
		if !s.spend(len(p.pattern)) {
			return TooMuch
		}
		if !s.seen.allow(p.pattern) {
			return best
		}
	}
	switch matches, paid := matchesWild(p.pattern, s.target), s.spend(len(p.pattern)+len(s.target)/2); {
	case !paid:
		return TooMuch
	case matches:
		return at
	}
	return best
}
