package match

import "sync/atomic"

// An index has the rules of a large group, and finds those that a target has
// something in common with, in a time that hardly depends on how many there
// are. Each rule is filed in a bucket under the hash of a key: a literal one
// under a beginning of its pattern (prefix.go), one with wildcards under four
// bytes from within (gram.go). The buckets stand one behind the other in rules,
// so that nothing but where they begin has to be kept. Before a bucket is
// looked into, a filter tells whether anything is filed under a hash at all:
// hardly ever, for most targets.
//
// Rules without a key stand apart, before the first bucket, and are tried on
// every target.
//
// An index that is not made yet has the rules in the order of the file.
type index struct {
	rules packed
	table []uint32      // the filter of prefixes, the filter of grams, then where each bucket begins and the last one ends; nil: it is not made
	most  uint32        // how many bytes of memory the Set may take, once it is made
	spent atomic.Uint32 // on questions before it is made, in steps

	longest uint32 // how long the longest key of a literal rule is
	lengths uint64 // half the lengths of the keys of literal rules, as bits, the last for all from there
	apart   uint32 // where the first bucket begins
	indexSizes
}

func (x *index) isMade() bool { return x.table != nil }

// price is what making the index costs, in steps of what scanning costs, as
// measured on real files.
func (x *index) price() int { return basePrice + pricePerByte*len(x.rules) }

const basePrice, pricePerByte = 1000, 5

// indexSizes are of how many words the parts of an index's table are.
type indexSizes struct {
	prefixes, grams uint32 // of the filters; 0 for none
	buckets         uint32 // one less than of what tells where they begin
}

// memoryBound is how much memory a Set and its owner may take whose patterns
// take so many bytes in the file.
func memoryBound(nbytes int) int { return 2*nbytes + 200 }

const wordSize, wordBits = 4, 32

func (s indexSizes) words() int { return int(s.prefixes + s.grams + s.buckets + 1) }

// fit makes an index smaller that would take more words than there is room for,
// but leaves an eighth of it.
func (s *indexSizes) fit(room int) {
	words := s.words()
	if room >= words {
		return
	}
	room = max(room, words/8)
	for _, part := range []*uint32{&s.prefixes, &s.grams, &s.buckets} {
		if *part > 0 {
			*part = max(uint32(uint64(*part)*uint64(room)/uint64(words)), 1)
		}
	}
}

func (x *index) prefixFilter() []uint32 { return x.table[:x.prefixes] }

func (x *index) gramFilter() []uint32 { return x.table[x.prefixes:][:x.grams] }

// starts returns where each bucket begins, and the last one ends.
func (x *index) starts() []uint32 { return x.table[x.prefixes+x.grams:] }

// bucket returns where the bucket of a hash begins and ends.
func (x *index) bucket(hash uint64) (from, to int) {
	starts := x.starts()
	i := spread(hash, x.buckets)
	return int(starts[i]), int(starts[i+1])
}

// setIn tells a filter that something is filed under a hash.
func setIn(filter []uint32, hash uint64) {
	bit := spread(hash, uint32(len(filter)*wordBits))
	filter[bit/wordBits] |= 1 << (bit % wordBits)
}
