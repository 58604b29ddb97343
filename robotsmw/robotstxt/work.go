package robotstxt

// What rules with wildcards cost for one target is counted in steps, each of about a nanosecond, and there is an end
// to them: baseWork, and workPerOctet for each octet of the target. No file that means well comes near. Those that
// go further exist to make a crawler work, and a robot that cannot tell stays out.
const (
	baseWork     = 3 << 18
	workPerOctet = 16
)

// maxWork is how many steps a target of some octets may cost.
func maxWork(octets int) int { return baseWork + workPerOctet*octets }

// dear is how many steps hardly any target needs.
const dear = 1 << 12

// A search is the search for the rule that decides about one target.
type search struct {
	target string
	left   int          // of the steps it may take
	seen   *occurrences // in the target, if the search is a dear one
}

// spend reports whether there was something left.
func (s *search) spend(steps int) bool {
	s.left -= steps
	return s.left >= 0
}

// tryRest returns the rule that decides among best and all rules that longestPrefix does not look at, or tooMuch, and
// in how many steps it was found.
func (r *Rules) tryRest(target string, best int) (decides, steps int) {
	s := search{target: target, left: dear}
	if decides = r.tryAll(&s, best); decides == tooMuch {
		return r.tryDear(target, best)
	}
	return decides, dear - s.left
}

// tryDear is tryRest with all that helps where much has to be tried.
func (r *Rules) tryDear(target string, best int) (decides, steps int) {
	var seen occurrences
	seen.find(target)
	most := maxWork(len(target))
	s := search{target, most, &seen}
	decides = r.tryAll(&s, best)
	return decides, most - s.left
}

func (r *Rules) tryAll(s *search, best int) int {
	if r.index == nil {
		return r.tryEach(s, r.end(), best)
	}
	best = r.tryEach(s, int(r.index.apart), best)
	if r.index.grams == 0 || best == tooMuch {
		return best
	}
	return r.tryGrams(s, best)
}

// tryEach tries the rules up to a place, of which those that override the others come first.
func (r *Rules) tryEach(s *search, end, best int) int {
	for at := 0; at < end; {
		p := r.rule(at)
		if r.isOverridden(&p, best) {
			break
		}
		if best = r.try(s, at, &p, best); best == at || best == tooMuch {
			break
		}
		at = p.next
	}
	return best
}

// isOverridden reports whether best, which may be none, overrides a rule.
func (r *Rules) isOverridden(p *packedRule, best int) bool {
	if best < 0 {
		return false
	}
	q := r.rule(best)
	return q.overrides(p)
}

// try returns the place of a rule if it matches; else best, or tooMuch.
func (r *Rules) try(s *search, at int, p *packedRule, best int) int {
	if s.seen != nil {
		if !s.spend(len(p.pattern)) {
			return tooMuch
		}
		if !s.seen.allow(p.pattern) {
			return best
		}
	}
	switch matches, paid := p.matches(s.target), s.spend(len(p.pattern)+len(s.target)/2); {
	case !paid:
		return tooMuch
	case matches:
		return at
	}
	return best
}

// allows reports whether the rule at a place is an Allow.
func (r *Rules) allows(at int) bool { return head(r.text[at+1])<<8&headAllow != 0 }
