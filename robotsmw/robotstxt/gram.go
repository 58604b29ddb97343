package robotstxt

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
)

// Patterns with wildcards can match anywhere, but most contain four octets in a row that few targets have. A
// gramIndex files each under such a gram, so that a pattern is tried only on a target that contains it.
//
// What has no four literal octets in a row is filed apart, behind the last bucket, and tried on every target.
type gramIndex struct {
	filter  []uint64    // a bit for each hash of a gram: whether anything is filed under it
	starts  []uint16    // where the entries of each bucket begin, then where those begin that are filed apart
	entries []gramEntry // in each bucket, the rule that overrides the others first
	shift   uint8       // hash >> shift is the number of its bit; 0 for no index
}

// A gramEntry is a rule filed under a gram.
type gramEntry struct {
	rule uint16
	tag  uint16 // of the gram's hash, to tell it from others in its bucket
}

// minIndexed is how many rules with wildcards are worth an index.
const minIndexed = 10

// manyIndexed is with how many rules it pays to look at all their grams for the rarest.
const manyIndexed = 200

const gramSize = 4

// filterBits is how many bits of the filter there are for each bucket.
const filterBits = 32

// gramSeed keeps the owner of a robots.txt file from finding grams that meet in one bucket.
var gramSeed = rand.Uint64() | 1

func hashGram(gram uint32) uint64 { return (uint64(gram) + 1) * gramSeed }

// place returns the number that the upper bits of a hash give in a table of a size that is a power of two.
func place(hash uint64, size int) int { return int(hash >> (64 - bits.TrailingZeros(uint(size)))) }

func tagOf(hash uint64) uint16 { return uint16(hash >> 8) }

// gramScratch is what building a gramIndex takes.
type gramScratch struct {
	hashes []uint64 // of grams, rule by rule
	counts []uint32 // by the hash of a gram: how often patterns have it, or more
	filed  []uint64 // by rule: the hash of its rarest gram; 0 for none
}

// buildGrams files rules with wildcards, of which first is the number of the first.
func (c *compiler) buildGrams(x *gramIndex, rules []draft, first int) {
	size := 1 << bits.Len(uint(len(rules)-1)/2) // a power of two, at least half their number
	filterSize := max(filterBits*size, 512)
	x.filter = make([]uint64, filterSize/64)
	x.shift = uint8(64 - bits.TrailingZeros(uint(filterSize)))
	x.starts = make([]uint16, size+2)
	x.entries = make([]gramEntry, len(rules))

	counts := zeroed(&c.grams.counts, 4*size)
	shift := 64 - bits.TrailingZeros(uint(len(counts)))
	hashes := c.grams.hashes[:0]
	every := 1
	if len(rules) < manyIndexed { // nearly all grams are rare
		every = 2
	}
	filed := zeroed(&c.grams.filed, len(rules))
	for i := range rules {
		first := len(hashes)
		hashes = hashGrams(hashes, c.pattern(&rules[i]), every)
		for _, hash := range hashes[first:] {
			counts[hash>>shift]++
		}
		filed[i] = uint64(len(hashes)) // for now, where the rule's hashes end
	}
	c.grams.hashes = hashes
	start := uint64(0)
	for i, end := range filed {
		rarest := uint32(0)
		filed[i] = 0
		for _, hash := range hashes[start:end] {
			if n := counts[hash>>shift]; rarest == 0 || n < rarest {
				rarest, filed[i] = n, hash
			}
		}
		start = end
	}

	// Count the rules in each bucket, and put them there from the last to the first.
	for _, hash := range filed {
		bucket := size
		if hash != 0 {
			bucket = place(hash, size)
			bit := hash >> x.shift
			x.filter[bit/64] |= 1 << (bit % 64)
		}
		x.starts[bucket]++
	}
	for i := range size + 1 {
		x.starts[i+1] += x.starts[i]
	}
	for i := len(filed) - 1; i >= 0; i-- {
		bucket := size
		if filed[i] != 0 {
			bucket = place(filed[i], size)
		}
		x.starts[bucket]--
		x.entries[x.starts[bucket]] = gramEntry{uint16(first + i), tagOf(filed[i])}
	}
}

// bucket returns the entries of a hash.
func (x *gramIndex) bucket(hash uint64) []gramEntry {
	i := place(hash, len(x.starts)-2)
	return x.entries[x.starts[i]:x.starts[i+1]]
}

// apart returns the entries of rules that have no gram.
func (x *gramIndex) apart() []gramEntry { return x.entries[x.starts[len(x.starts)-2]:] }

// zeroed returns n zeros, in *buf if there is room.
func zeroed[E any](buf *[]E, n int) []E {
	*buf = slices.Grow((*buf)[:0], n)[:n]
	clear(*buf)
	return *buf
}

// hashGrams appends the hashes of the grams of a pattern, or of every other. A pattern with an eitherEscape, of which
// not all octets are literal, has none.
func hashGrams(hashes []uint64, pattern string, every int) []uint64 {
	if strings.IndexByte(pattern, eitherEscape) >= 0 {
		return hashes
	}
	gram, run := uint32(0), 0
	for i := range len(pattern) {
		c := pattern[i]
		if c == '*' || c == '$' {
			run = 0
			continue
		}
		gram = gram>>8 | uint32(c)<<24
		if run++; run >= gramSize && run%every == 0 {
			hashes = append(hashes, hashGram(gram))
		}
	}
	return hashes
}

// maxWork is how many octets of patterns and targets the rules with wildcards may cost for one target. A group of
// 10,000 rules of which each has to be tried on a target of 2 KB stays well below. Files that go further exist
// only to make a crawler work, and a robot that cannot tell stays out.
const maxWork = 1 << 25

// dear is the part of maxWork that hardly any target needs.
const dear = 1 << 14

// A search is the search for the rule that decides about one target.
type search struct {
	target  string
	left    int      // of maxWork
	octets  octetSet // those of the target, once they are known
	counted bool     // whether they are
}

// spend reports whether there was something left.
func (s *search) spend(octets int) bool {
	s.left -= octets
	return s.left >= 0
}

// isDear reports whether the search has cost more than nearly all do.
func (s *search) isDear() bool { return s.left < maxWork-dear }

// lacks reports whether the target is without some octet of a pattern.
func (s *search) lacks(pattern string) bool {
	if !s.counted {
		s.counted = true
		for i := range len(s.target) {
			s.octets = s.octets.with(s.target[i])
		}
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '$':
		case eitherEscape:
			i += 2
		default:
			if !s.octets.has(c) {
				return true
			}
		}
	}
	return false
}

// tryWild returns the rule that decides among best and the rules with wildcards, or tooMuch.
func (r *Rules) tryWild(s *search, best int) int {
	if r.index == nil || r.index.shift == 0 {
		return r.tryEach(s, best)
	}
	if best != none && r.overrides(best, int(r.literals)) {
		return best
	}
	x := &r.index.gramIndex
	for _, e := range x.apart() {
		if best = r.try(s, int(e.rule), best); best == tooMuch {
			return tooMuch
		}
	}
	var gram uint32
	filter, shift := x.filter, x.shift&63
	for i := range len(s.target) {
		gram = gram>>8 | uint32(s.target[i])<<24
		bit := hashGram(gram) >> shift
		if word := bit / 64; word >= uint64(len(filter)) || filter[word]>>(bit%64)&1 == 0 {
			continue
		}
		if at := i + 1 - gramSize; at >= 0 {
			if best = r.tryBucket(s, hashGram(gram), at, best); best == tooMuch {
				return tooMuch
			}
		}
	}
	return best
}

// tryBucket tries the rules that are filed under the gram at target[at:].
func (r *Rules) tryBucket(s *search, hash uint64, at, best int) int {
	tag, entries := tagOf(hash), r.index.bucket(hash)
	if !s.spend(len(entries)) {
		return tooMuch
	}
	if s.isDear() { // it pays to look whether the gram was here before: trying a rule once is enough
		before := strings.Index(s.target, s.target[at:at+gramSize])
		if !s.spend(before / 4) {
			return tooMuch
		}
		if before < at {
			return best
		}
	}
	for _, e := range entries {
		if e.tag != tag {
			continue
		}
		if best != none && r.overrides(best, int(e.rule)) {
			break
		}
		if best = r.try(s, int(e.rule), best); best == tooMuch {
			break
		}
	}
	return best
}

// tryEach tries all rules with wildcards, of which the one that overrides the others comes first.
func (r *Rules) tryEach(s *search, best int) int {
	for i := int(r.literals); i < int(r.count); i++ {
		if best != none && r.overrides(best, i) {
			break
		}
		if best = r.try(s, i, best); best == i || best == tooMuch {
			break
		}
	}
	return best
}

// try returns rule i if it overrides best and matches, else best.
func (r *Rules) try(s *search, i, best int) int {
	if best != none && r.overrides(best, i) {
		return best
	}
	pattern := r.pattern(i)
	if s.isDear() && s.lacks(pattern) {
		s.left -= len(pattern)
		return best
	}
	if !s.spend(len(pattern) + len(s.target)) {
		return tooMuch
	}
	if s.matches(pattern) {
		best = i
	}
	if s.left < 0 {
		return tooMuch
	}
	return best
}
