package robotstxt

// An octetSet is a set of ASCII octets, a bit for each.
type octetSet [2]uint64

func (s octetSet) with(c byte) octetSet {
	s[c>>6&1] |= 1 << (c & 63)
	return s
}

func (s *octetSet) has(c byte) bool { return s[c>>6&1]>>(c&63)&1 != 0 }
