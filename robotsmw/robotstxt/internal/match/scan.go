package match

// Most groups have to judge only a handful of targets. For so few targets, an
// index costs more than it saves. So the rules of a large group are first tried
// one by one, in the order of the file. See Set.decideMany.

// scan returns the rule that decides, or None. The rules must be in the order
// of the file, and the target in the form that the dialect compares. scan skips
// each rule that is overridden by an earlier rule that matches. For nearly all
// other rules, the first bytes show that the rule does not match. If s.left is
// negative afterwards, the steps did not suffice, and the result does not
// count.
//
// scan also returns an upper bound on the steps that a search with an index
// would take. An index has the rules in another order, so such a search may try
// some rules that a scan skips.
func (s *search) scan() (best, most int) {
	text := string(s.rules)
	best = None
	longest, allowed := 0, false
	most = len(text) / 2 // more steps than mayMatch() takes if it is called once for each rule
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
			// The best rule so far overrides this one.
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
			// Ignore the pattern's last byte, which may be a "$" or a "*".
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

// scannedPerStep is how many bytes of packed rules a scan reads in one step.
const scannedPerStep = 8
