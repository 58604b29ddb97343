package match

// Occurrences tell between which places a target has a byte, or a gram. With
// them a pattern that needs what the target has not, or has in another order,
// is told to match nothing without another look at the target: a group made of
// such patterns costs no more than reading them.
type occurrences struct {
	byByte [256]stretch
	last   byte                     // the target's last byte
	grams  [1 << gramPlaces]stretch // by their hashes, or a little after it
}

// A stretch is where something begins first and last, counted from 1; 0 for
// nowhere.
type stretch struct{ first, last uint32 }

// A gram stands in one of gramTries places, if one is free; else it shares the
// first of them.
const gramPlaces, gramTries = 12, 8

func (s *stretch) add(place int) {
	if s.first == 0 {
		s.first = uint32(place)
	}
	s.last = uint32(place)
}

// gram returns where a gram begins in a target, of which so much has been read.
// It may begin later, and end earlier, if it shares its place with others.
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

// find fills in what a target has.
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

// allow reports whether a pattern may match a target, as far as occurrences
// tell.
func (o *occurrences) allow(target, pattern string) bool {
	var at uint32 // where what follows begins, at the earliest
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

// isFirst reports whether the gram at target[at:] does not stand anywhere
// before.
func (o *occurrences) isFirst(target string, at int) bool {
	gram := load32(target[at:])
	first := int(o.gram(target, gram).first) - 1
	return first >= at || load32(target[first:]) != gram
}
