package match

// Most groups are asked a handful of questions. An index would cost more than
// it saves there, so that a large group has its rules tried one by one at
// first, in the order of the file: see Set.decideMany.

// scan returns the rule that decides, or none, if the rules are in the order of
// the file and the target is in the form of escape.go. If no steps are left
// afterwards, there were too few, and nothing is decided. It looks at each rule
// that is not overridden by one before it, and nearly all of them are told to
// match nothing by their first bytes.
func (s *search) scan() (best int) {
	text := string(s.rules)
	best = None
	longest, allowed := 0, false
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
			continue // the best so far overrides it
		}
		begin, pattern := load64(text[from:]), text[from:from+length]
		if h.tag() == tagWild {
			if !s.mayMatch(begin, pattern) {
				continue
			}
			s.left -= s.worth(pattern)
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
	return best
}

// scannedPerStep is how many bytes of packed rules are passed over in a step.
const scannedPerStep = 8

// mostWork is how many steps a search by the index takes at most, for a target
// of some bytes: each rule with wildcards is found in its bucket, and looked at
// twice.
func (x *index) mostWork(nbytes int) int { return int(x.wild)*(nbytes/2) + 3*len(x.rules) }
