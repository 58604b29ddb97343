package match

import "sync/atomic"

// An index has the rules of a large group. It finds the rules that may match a
// target, in a time that hardly depends on the number of rules. Each rule is in
// a bucket, by the hash of its key. The key of a literal rule is a beginning of
// its pattern (prefix.go). The key of a rule with wildcards is four bytes of
// its pattern (gram.go). The rules are stored bucket by bucket, so the index
// keeps only where each bucket begins. Before the index looks into a bucket, a
// filter tells it whether a rule may have the hash. For most targets, the
// filter nearly always says no.
//
// Rules without a key are before the first bucket, and are tried on every
// target.
//
// Until the index is made, it has only the rules, in the order of the file.
type index struct {
	rules packed
	table []uint32      // the two filters, and after them where each bucket begins; nil if not made
	most  uint32        // how many bytes of memory the Set may take after the index is made
	spent atomic.Uint32 // how many steps were spent on questions without the index

	longest uint32 // the length of the longest key of a literal rule
	lengths uint64 // bit n is set if a literal rule's key has 2n bytes; bit 63 means 126 or more
	apart   uint32 // where the rules without a key end and the first bucket begins
	indexSizes
}

func (x *index) isMade() bool { return x.table != nil }

// The method "price" estimates the cost of making the index, in steps, from
// measurements on real files.
func (x *index) price() int { return basePrice + pricePerByte*len(x.rules) }

const basePrice, pricePerByte = 1000, 5

// indexSizes are the sizes of the parts of an index's table.
type indexSizes struct {
	prefixes, grams uint32 // how many words each filter takes; 0 if there is no filter
	buckets         uint32 // how many buckets there are; their starts take buckets+1 words
}

// memoryBound returns how many bytes of memory may be taken by an index, its
// Set and the struct around the Set together. nbytes is how many bytes the
// patterns take in the file. If patterns are short or not stored as written,
// the rules alone may take more than this. For such rules, the bound in the
// package doc of robotstxt is higher. A Set with such rules stays within that
// higher bound, because indexSizes.fit makes the index as small as it can.
func memoryBound(nbytes int) int { return 2*nbytes + 200 }

const wordSize, wordBits = 4, 32

func (s indexSizes) words() int { return int(s.prefixes + s.grams + s.buckets + 1) }

// fit makes an index smaller if it takes more words than there is room for. But
// each part keeps about an eighth of its size or more, however small the room
// is.
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

func (x *index) starts() []uint32 { return x.table[x.prefixes+x.grams:] }

// bucket returns the beginning and the end of the bucket for a hash.
func (x *index) bucket(hash uint64) (from, to int) {
	starts := x.starts()
	i := spread(hash, x.buckets)
	return int(starts[i]), int(starts[i+1])
}

func setIn(filter []uint32, hash uint64) {
	bit := spread(hash, uint32(len(filter)*wordBits))
	filter[bit/wordBits] |= 1 << (bit % wordBits)
}
