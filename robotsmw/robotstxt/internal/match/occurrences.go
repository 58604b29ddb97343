package match

// occurrences says where a target has each byte and each gram: the first place
// and the last. It also has the target's last byte. In three cases, this shows
// that a pattern does not match, without comparing it with the target:
//
//   - the target lacks a byte or gram of the pattern;
//   - such a byte or gram is in the target, but only before the place where the
//     pattern needs it;
//   - the pattern ends with a literal byte and "$", and the target ends with
//     another byte.
//
// So a group of such patterns costs little more than reading the patterns.
type occurrences struct {
	byByte [256]stretch
	last   byte                     // the target's last byte
	grams  [1 << gramPlaces]stretch // a gram is in the place of its hash, or a little after it
}

// A stretch has the first and the last place at which a byte or gram begins.
// Places are counted from 1, and 0 means nowhere.
type stretch struct{ first, last uint32 }

// There are 1<<gramPlaces places for grams. A gram takes the first free one of
// gramTries places in a row, beginning with the place of its hash. If none of
// them is free, the gram shares the place of its hash.
const gramPlaces, gramTries = 12, 8

func (s *stretch) add(place int) {
	if s.first == 0 {
		s.first = uint32(place)
	}
	s.last = uint32(place)
}

// gram returns the stretch of a gram in a target. While find() reads the
// target, this is the stretch in the part that was read so far. Grams that
// share a place share its stretch.
func (o *occurrences) gram(target string, gram uint32) *stretch {
	home := hashGram(gram) >> (64 - gramPlaces)
	for i := range uint64(gramTries) {
		s := &o.grams[(home+i)%uint64(len(o.grams))]
		if s.first == 0 || load32(target[s.first-1:]) == gram {
			return s
		}
	}
	return &o.grams[home]
}

func (o *occurrences) find(target string) {
	o.last = target[len(target)-1]
	var gram uint32
	for i := range len(target) {
		o.byByte[target[i]].add(i + 1)
		if gram = gram>>8 | uint32(target[i])<<24; i >= gramSize-1 {
			o.gram(target, gram).add(i + 2 - gramSize)
		}
	}
}

// allow returns false if the occurrences show that a pattern does not match a
// target.
func (o *occurrences) allow(target, pattern string) bool {
	var at uint32 // the rest of the pattern can begin here at the earliest
	var gram uint32
	run := 0
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch c {
		case eitherEscape:
			i += 2
			fallthrough
		case '*':
			run = 0
			continue
		case '$':
			return run == 0 || pattern[i-1] == o.last
		}
		char := &o.byByte[c]
		if char.last <= at {
			return false
		}
		at = max(at+1, char.first)
		gram = gram>>8 | uint32(c)<<24
		if run++; run < gramSize {
			continue
		}
		four := o.gram(target, gram)
		if four.last+gramSize <= at {
			return false
		}
		at = max(at, four.first+gramSize-1)
	}
	return true
}

// isFirst reports whether the gram at target[at:] has its first occurrence
// there. If the gram shares its place with another gram, isFirst may also
// return true for a later occurrence. That costs time but changes no match.
func (o *occurrences) isFirst(target string, at int) bool {
	gram := load32(target[at:])
	first := int(o.gram(target, gram).first) - 1
	return first >= at || load32(target[first:]) != gram
}
