package match

import "sync/atomic"

// An index has the rules of a large group. It finds those that may match a
// target, in a time that hardly depends on how many there are. Each rule is
// filed in a bucket under the hash of a key. The key of a literal rule is a
// beginning of its pattern (prefix.go). The key of a rule with wildcards is
// four bytes of its pattern (gram.go). The buckets lie one behind the other in
// rules, so the index only has to keep where each bucket begins. Before the
// index looks into a bucket, it asks a filter whether a rule may be filed under
// the hash. For most targets, the answer is nearly always no.
//
// Rules without a key stand apart, before the first bucket, and are tried on
// every target.
//
// An index that is not made yet has only the rules, in the order of the file.
type index struct {
	rules packed
	table []uint32      // two filters (of prefixes, of grams), then starts; nil until the index is made
	most  uint32        // how many bytes of memory the Set may take once the index is made
	spent atomic.Uint32 // how many steps questions took before the index was made

	longest uint32 // how many bytes the longest key of a literal rule has
	lengths uint64 // bit n: some literal rule's key has 2n bytes; bit 63: 126 bytes or more
	apart   uint32 // where the rules without a key end, and the first bucket begins
	indexSizes
}

func (x *index) isMade() bool { return x.table != nil }

// price returns how many steps it costs to make the index, as measured on real
// files.
func (x *index) price() int { return basePrice + pricePerByte*len(x.rules) }

const basePrice, pricePerByte = 1000, 5

// indexSizes are the sizes of the parts of an index's table, in words.
type indexSizes struct {
	prefixes, grams uint32 // the filters; 0 for none
	buckets         uint32 // how many buckets there are; their starts take one word more
}

// memoryBound returns into how many bytes of memory an index must fit, together
// with the rest of its Set and the Set's owner. nbytes is how many bytes the
// patterns take in the file. If patterns are short, or not stored as written,
// the rules alone may take more. Then the index is as small as fit makes it, so
// that the bound in the package doc of robotstxt holds for all rules.
func memoryBound(nbytes int) int { return 2*nbytes + 200 }

const wordSize, wordBits = 4, 32

func (s indexSizes) words() int { return int(s.prefixes + s.grams + s.buckets + 1) }

// fit makes an index smaller if it would take more words than there is room
// for. It keeps about an eighth of each part even if there is no room.
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

// starts returns where each bucket begins, and where the last one ends.
func (x *index) starts() []uint32 { return x.table[x.prefixes+x.grams:] }

// bucket returns where the bucket of a hash begins and ends.
func (x *index) bucket(hash uint64) (from, to int) {
	starts := x.starts()
	i := spread(hash, x.buckets)
	return int(starts[i]), int(starts[i+1])
}

// setIn adds a hash to a filter.
func setIn(filter []uint32, hash uint64) {
	bit := spread(hash, uint32(len(filter)*wordBits))
	filter[bit/wordBits] |= 1 << (bit % wordBits)
}
