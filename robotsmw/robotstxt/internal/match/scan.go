package match

// Most groups are asked a handful of questions. An index would cost more than
// it saves there, so that a large group has its rules tried one by one at
// first, in the order of the file: see Set.decideMany.

// scan returns the rule that decides, or none, if the rules are in the order of
// the file and the target is in the form of escape.go. If no steps are left
// afterwards, there were too few, and nothing is decided. It looks at each rule
// that is not overridden by one before it, and nearly all of them are told to
// match nothing by their first bytes.
//
// most is how many steps a search by an index would take at most, which knows
// another order, and so may try what is overridden here.
func (s *search) scan() (best, most int) {
	text := string(s.rules)
	best = None
	longest, allowed := 0, false
	most = len(text) / 2 // a glance at each rule
	s.left -= len(text) / scannedPerStep
	for next := 0; next < len(text)-padding && s.left >= 0; {
		at := next
		h := head(load64(text[at:]))
		from, length := at+headSize, h.length()
		next = from + length
		if h&headRare != 0 {
			p := s.rules.rule(at)
			from, length, next = from+lengthsSize, len(p.pattern), p.next
		}
		if length < longest || length == longest && (allowed || !h.allows()) {
			// The best so far overrides it.
			if h.tag() == tagWild {
				most += length + s.worth(text[from:from+length])
			}
			continue
		}
		begin, pattern := load64(text[from:]), text[from:from+length]
		if h.tag() == tagWild {
			if !s.mayMatch(begin, pattern) {
				continue
			}
			steps := s.worth(pattern)
			most += length + steps
			s.left -= steps
			if !matchesWild(pattern, s.target) {
				continue
			}
		} else {
			// The last byte is left out, which may be a "$" or a "*".
			if (begin^s.block)<<(8*uint(blockSize-min(length, blockSize))&63)<<8 != 0 {
				continue
			}
			if matches, _ := matchesLiteral(pattern, s.target); !matches {
				continue
			}
		}
		best, longest, allowed = at, length, h.allows()
	}
	return best, most
}

// scannedPerStep is how many bytes of packed rules are passed over in a step.
const scannedPerStep = 8
