package robotstxt

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// An index finds the rules of a large group that a target has something in common with, in a time that hardly
// depends on how many there are. Each rule is filed in a bucket under the hash of a key: a literal one under a
// beginning of its pattern (prefix.go), one with wildcards under four octets from within (gram.go). The buckets
// stand one behind the other in Rules.text, so that nothing but where they begin has to be kept. Before a bucket is
// looked into, a filter tells whether anything is filed under a hash at all: hardly ever, for most targets.
//
// Rules without a key stand apart, before the first bucket, and are tried on every target.
type index struct {
	done  atomic.Bool // whether the index has been made
	mu    sync.Mutex  // held while it is made
	table []uint32    // the filter of prefixes, the filter of grams, then where each bucket begins and the last one ends

	lengths uint64 // half the lengths of the keys of literal rules, as bits, the last for all from there
	longest uint32 // how long the longest key of a literal rule is
	apart   uint32 // where the first bucket begins
	indexSizes
}

// indexSizes are of how many words the parts of an index's table are.
type indexSizes struct {
	prefixes, grams uint32 // of the filters; 0 for none
	buckets         uint32 // one less than of what tells where they begin
}

// maxTried is how many rules are tried one by one, rather than found through an index.
const maxTried = 8

// manyTried is how many rules are if an index would take more memory than is allowed.
const manyTried = 32

// Seeds of hashes keep the owner of a robots.txt file from finding keys that meet in one bucket.
var hashSeeds = [2]uint64{rand.Uint64(), rand.Uint64() | 1}

// needsIndex reports whether a group is worth an index.
func (c *compiler) needsIndex(r *Rules) bool {
	if c.count <= maxTried || c.count > manyTried {
		return c.count > maxTried
	}
	smallest := indexSizes{1, 1, 1}
	size := int(unsafe.Sizeof(index{})) + wordSize*smallest.words()
	return r.fixedSize()+size+len(c.text) <= memoryBound(c.octets)
}

// memoryBound is how much memory Rules may take whose patterns take so many octets in the file.
func memoryBound(octets int) int { return 2*octets + 200 }

// ready makes the index, when Rules are asked for the first time: who wants a file's sitemaps, or another robot's
// rules, need not wait for it.
func (r *Rules) ready() {
	if r.index != nil && !r.index.done.Load() {
		r.makeIndex()
	}
}

func (r *Rules) makeIndex() {
	x := r.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done.Load() {
		return
	}
	c := compilers.Get().(*compiler)
	c.filer.file(r)
	compilers.Put(c)
	x.done.Store(true)
}

const wordSize, wordBits = 4, 32

func (s indexSizes) words() int { return int(s.prefixes + s.grams + s.buckets + 1) }

// fit makes an index smaller that would take more words than there is room for, but leaves an eighth of it.
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

// spread returns which of some places is a hash's. It grows with the hash.
func spread(hash uint64, places uint32) uint64 { return hash >> 32 * uint64(places) >> 32 }

// tagOf tells rules in a bucket apart.
func tagOf(hash uint64) byte { return byte(hash >> 24) }

// setIn tells a filter that something is filed under a hash.
func setIn(filter []uint32, hash uint64) {
	bit := spread(hash, uint32(len(filter)*wordBits))
	filter[bit/wordBits] |= 1 << (bit % wordBits)
}

// A filer makes an index.
type filer struct {
	rules    []filedRule // of the group, in the order of the file
	hashes   []uint64    // of their keys; 0 for none
	keys     []uint64    // what they are sorted by
	passages []uint64    // hashes of what literal patterns go on from, see prefix.go
	grams    gramScratch
}

// A filedRule is a rule on its way into an index.
type filedRule struct {
	packedRule
	spelled string // in the file; "" if it is the same
}

// file makes the index of r.
func (f *filer) file(r *Rules) {
	x := r.index
	octets := f.unpack(r)
	f.hashes = zeroed(&f.hashes, len(f.rules))
	literals, wild := f.hashPrefixes(x), f.hashRarest()
	f.sort()
	kept := f.dropDuplicates()
	f.rank(f.keys[:kept])

	x.indexSizes = indexSizes{
		prefixes: wordsFor(prefixBits * (literals + len(f.passages))),
		buckets:  uint32(max(kept, 1)),
	}
	if wild > 0 {
		x.grams = wordsFor(max(gramBits*wild, minGramBits))
	}
	size := padding
	for _, key := range f.keys[:kept] {
		p := &f.rules[key&0xffff]
		size += packedSize(len(p.pattern), len(p.spelled))
	}
	x.fit((memoryBound(octets) - r.fixedSize() - size) / wordSize)
	x.table = make([]uint32, x.words())
	f.fill(r, f.keys[:kept], size)
	clear(f.rules) // they hold the text
}

// unpack fills in f.rules and returns how many octets their patterns take in the file.
func (f *filer) unpack(r *Rules) (octets int) {
	f.rules = f.rules[:0]
	for at, end := 0, r.end(); at < end; {
		p := filedRule{packedRule: r.rule(at)}
		if p.head&headRare != 0 {
			_, p.spelled = r.rareRule(at)
		}
		octets += len(r.asWritten(at))
		f.rules = append(f.rules, p)
		at = p.next
	}
	return octets
}

// compare orders rules: first those that override the others.
func compare(p, q *filedRule) int {
	switch {
	case p.overrides(&q.packedRule):
		return -1
	case q.overrides(&p.packedRule):
		return 1
	}
	return 0
}

// appendTagged packs a rule again, with another tag.
func (p *filedRule) appendTagged(text []byte, tag byte) []byte {
	const kept = 1<<lengthFrom - 1<<tagBits - headRare
	return appendRule(text, p.head&kept|head(tag), p.pattern, p.spelled)
}

// ranked returns the rules of r, packed in the order in which they override each other.
func (f *filer) ranked(r *Rules) string {
	f.unpack(r)
	slices.SortFunc(f.rules, func(p, q filedRule) int { return compare(&p, &q) })
	text := make([]byte, 0, len(r.text))
	for i := range f.rules {
		text = f.rules[i].appendTagged(text, f.rules[i].tag())
	}
	clear(f.rules) // they hold the text
	return asString(text[:len(r.text)])
}

// sort fills in f.keys: first the rules that stand apart, then the others by their buckets. Rules with the same key
// and the same literalPart stand together.
func (f *filer) sort() {
	f.keys = f.keys[:0]
	for i := range f.rules {
		key := f.hashes[i]>>32<<32 | hashString(f.rules[i].essence())>>48<<16
		f.keys = append(f.keys, key|uint64(i))
	}
	slices.Sort(f.keys)
}

// essence returns what a rule matches: two rules of which it is the same are one too many.
func (p *packedRule) essence() string {
	if literal, ok := literalPart(p.pattern); ok {
		return literal
	}
	return p.pattern
}

// dropDuplicates leaves of the rules that match the same only the one that overrides the others.
func (f *filer) dropDuplicates() (kept int) {
	run := 0 // where those begin that have the same key but for their number
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

// rank puts rules with the same key into the order in which they override each other.
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

// fill packs the rules again, in the order of their keys, and fills in the table.
func (f *filer) fill(r *Rules, keys []uint64, size int) {
	x := r.index
	apart := 0
	for apart < len(keys) && f.hashes[keys[apart]&0xffff] == 0 {
		apart++
	}
	prefixes, grams, starts := x.prefixFilter(), x.gramFilter(), x.starts()
	for _, hash := range f.passages {
		setIn(prefixes, hash)
	}
	text := make([]byte, 0, size)
	bucket := 0
	for i, key := range keys {
		p := &f.rules[key&0xffff]
		hash := f.hashes[key&0xffff]
		switch {
		case i < apart:
			x.apart += uint32(packedSize(len(p.pattern), len(p.spelled)))
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
	r.text = asString(text[:size])
}

// wordsFor returns how many words some bits take.
func wordsFor(bits int) uint32 { return uint32((bits + wordBits - 1) / wordBits) }

// zeroed returns n zeros, in *buf if there is room.
func zeroed[E any](buf *[]E, n int) []E {
	*buf = slices.Grow((*buf)[:0], n)[:n]
	clear(*buf)
	return *buf
}
