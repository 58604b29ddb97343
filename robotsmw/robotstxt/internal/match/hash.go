package match

import (
	"math/bits"
	"math/rand/v2"
)

// blockSize is how many bytes the function mix takes in one call.
const blockSize = 8

const gramSize = 4

// hashSeeds are random, so that nobody can write a robots.txt file in which
// many keys fall into one bucket.
var hashSeeds = [2]uint64{rand.Uint64(), rand.Uint64() | 1}

// mix returns the hash of a sequence of blocks: block is the final one, and
// state is the hash of those before it.
func mix(state, block uint64) uint64 {
	hi, lo := bits.Mul64(state^block^hashSeeds[0], hashSeeds[1])
	return hi ^ lo
}

// blockOf returns the first bytes of s, up to eight, as a number. The first
// byte is in its lowest eight bits.
func blockOf(s string) (block uint64) {
	if len(s) >= blockSize {
		return load64(s)
	}
	for i := len(s) - 1; i >= 0; i-- {
		block = block<<8 | uint64(s[i])
	}
	return block
}

// passage turns the hash of some blocks into a passage. The comment at
// prefixBits says what a passage is.
func passage(state uint64) uint64 { return bits.RotateLeft64(state, 32) }

func hashString(s string) (state uint64) {
	state = uint64(len(s))
	for ; len(s) >= blockSize; s = s[blockSize:] {
		state = mix(state, load64(s))
	}
	return mix(state, blockOf(s))
}

func hashGram(gram uint32) uint64 { return uint64(gram) * hashSeeds[1] }

// spread maps a hash to a number from 0 to places-1. A larger hash never gets a
// smaller number.
func spread(hash uint64, places uint32) uint64 { return hash >> 32 * uint64(places) >> 32 }

// tagOf returns one byte of a hash. If two rules in one bucket have different
// keys, this byte differs in most cases.
func tagOf(hash uint64) byte { return byte(hash >> 24) }

// A hashSet is a set of hashes. It ignores the lowest bit of each hash.
type hashSet struct {
	hashes []uint64
	slots  []uint64 // each a hash, or 0 if free; a hash is at hash>>shift, or in the next free slot
	shift  int
}

func (s *hashSet) reset(n int) {
	s.hashes = s.hashes[:0]
	s.shift = 64 - bits.Len(uint(2*n))
	s.slots = zeroed(&s.slots, 1<<(64-s.shift))
}

func (s *hashSet) add(hash uint64) {
	hash |= 1
	i := hash >> s.shift
	for ; s.slots[i] != 0; i = (i + 1) % uint64(len(s.slots)) {
		if s.slots[i] == hash {
			return
		}
	}
	s.slots[i] = hash
	s.hashes = append(s.hashes, hash)
}
