package match

import (
	"slices"
	"sync"
)

// A filer makes an index. A pool keeps filers, so that their buffers can be
// used again.
type filer struct {
	rules    []looseRule // the rules in the order of the file
	hashes   []uint64    // the hashes of the rules' keys; 0 for a rule without a key
	keys     []uint64    // for each rule: bits of its hash, bits of its essence's hash, its number
	passages hashSet     // the passages of literal rules, see prefix.go
	grams    gramScratch
}

// The method "file" makes an index from x, which has only the rules. They must
// be in the order of the robots.txt. The last argument is how many bytes of
// memory the Set takes in addition to the rules and the table.
func (f *filer) file(x *index, besides int) *index {
	made := &index{most: x.most}
	f.rules = x.rules.unpack(f.rules[:0])
	f.hashes = zeroed(&f.hashes, len(f.rules))
	f.passages.reset(len(x.rules) / blockSize)
	literals := made.hashPrefixes(f.rules, f.hashes, &f.passages)
	wild := f.grams.hashRarest(f.rules, f.hashes)
	f.sort()
	kept := f.dropDuplicates()
	f.rank(f.keys[:kept])

	size := padding
	for _, key := range f.keys[:kept] {
		size += f.rules[key&0xffff].size()
	}
	made.indexSizes = sizesFor(kept, literals+len(f.passages.hashes), wild)
	made.fit((int(x.most) - besides - size) / wordSize)
	made.table = make([]uint32, made.words())
	made.rules = f.fill(made, f.keys[:kept], size)
	clear(f.rules) // otherwise the loose rules would keep the text in memory
	return made
}

// sort fills in f.keys: first the rules without a key, then the others in the
// order of their buckets. Rules with the same key and the same essence are
// neighbours.
func (f *filer) sort() {
	f.keys = f.keys[:0]
	for i := range f.rules {
		key := f.hashes[i]>>32<<32 | hashString(f.rules[i].essence())>>48<<16
		f.keys = append(f.keys, key|uint64(i))
	}
	slices.Sort(f.keys)
}

// dropDuplicates looks for rules that match the same targets. Of these rules,
// it keeps only the one that overrides the others. It returns how many rules it
// keeps in all.
func (f *filer) dropDuplicates() (kept int) {
	run := 0 // the start of the current run: keys that differ only in the rule's number
	for i, key := range f.keys {
		if i > 0 && key>>16 != f.keys[i-1]>>16 {
			run = kept
		}
		p := &f.rules[key&0xffff]
		same := slices.IndexFunc(f.keys[run:kept], func(k uint64) bool { return f.rules[k&0xffff].essence() == p.essence() })
		if same < 0 {
			f.keys[kept] = key
			kept++
		} else if k := &f.keys[run+same]; p.overrides(&f.rules[*k&0xffff].packedRule) {
			*k = key
		}
	}
	return kept
}

// rank sorts the rules with the same key: a rule comes before those that it
// overrides.
func (f *filer) rank(keys []uint64) {
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n]>>32 == keys[0]>>32 {
			n++
		}
		if n > 1 {
			slices.SortFunc(keys[:n], func(a, b uint64) int { return compare(&f.rules[a&0xffff], &f.rules[b&0xffff]) })
		}
		keys = keys[n:]
	}
}

// fill packs the rules in the order of their keys, and fills in the table.
func (f *filer) fill(x *index, keys []uint64, size int) packed {
	apart := 0
	for apart < len(keys) && f.hashes[keys[apart]&0xffff] == 0 {
		apart++
	}
	prefixes, grams, starts := x.prefixFilter(), x.gramFilter(), x.starts()
	for _, hash := range f.passages.hashes {
		setIn(prefixes, hash)
	}
	text := make([]byte, 0, size)
	bucket := 0
	for i, key := range keys {
		p := &f.rules[key&0xffff]
		hash := f.hashes[key&0xffff]
		switch {
		case i < apart:
			x.apart += uint32(p.size())
		case p.tag() == tagWild:
			setIn(grams, hash)
		default:
			setIn(prefixes, hash)
		}
		tag := p.tag()
		if i >= apart {
			for to := int(spread(hash, x.buckets)); bucket <= to; bucket++ {
				starts[bucket] = uint32(len(text))
			}
			tag = tagOf(hash)
		}
		text = p.appendTagged(text, tag)
	}
	for ; bucket < len(starts); bucket++ {
		starts[bucket] = uint32(len(text))
	}
	return packed(asString(text[:size]))
}

// sizesFor returns the sizes for an index. prefixes is how many hashes the
// filter of prefixes will have. wild is how many rules have wildcards.
func sizesFor(rules, prefixes, wild int) (s indexSizes) {
	s.prefixes, s.buckets = wordsFor(prefixBits*prefixes), uint32(max(rules, 1))
	if wild >= minIndexed {
		s.grams = wordsFor(max(gramBits*wild, minGramBits))
	}
	return s
}

func wordsFor(bits int) uint32 { return uint32((bits + wordBits - 1) / wordBits) }

var filers = sync.Pool{New: func() any { return new(filer) }}
