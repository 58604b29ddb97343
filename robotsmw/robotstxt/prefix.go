package robotstxt

import (
	"math/bits"
	"slices"
	"strings"
)

// A pattern without wildcards is a prefix of what it matches. It is filed under a prefix of its own, the longest of
// an even length, and a target is looked up by each of its prefixes of an even length that occurs. Patterns that have
// their key in common are then of the same length, or differ by one octet: there are never many.
//
// The target is taken in blocks of eight octets. Where no pattern goes on with the next block, nothing can be filed
// beyond it: for each whole number of blocks that some key goes on from, the filter has a passage.
const blockSize = 8

// prefixBits is how many bits of the filter there are for each key, if there is room.
const prefixBits = 16

// mix hashes a block that follows what has been hashed to state.
func mix(state, block uint64) uint64 {
	hi, lo := bits.Mul64(state^block^hashSeeds[0], hashSeeds[1])
	return hi ^ lo
}

// blockOf returns up to eight octets that s begins with, the first in the lowest place.
func blockOf(s string) (block uint64) {
	if len(s) >= blockSize {
		return load64(s)
	}
	for i := len(s) - 1; i >= 0; i-- {
		block = block<<8 | uint64(s[i])
	}
	return block
}

// plainBlock is a block of plain octets.
const plainBlock = 0x6161616161616161

// passage returns the hash of a way that goes on, from that of the blocks so far.
func passage(state uint64) uint64 { return bits.RotateLeft64(state, 32) }

// hashString hashes a string of any octets.
func hashString(s string) (state uint64) {
	state = uint64(len(s))
	for ; len(s) >= blockSize; s = s[blockSize:] {
		state = mix(state, load64(s))
	}
	return mix(state, blockOf(s))
}

// prefixOf returns what a literal pattern is filed under: "" if it is too short.
func prefixOf(literal string) string {
	n := len(literal)
	if n > 0 && literal[n-1] == '$' {
		n--
	}
	return literal[:n&^1]
}

// hashPrefixes fills in the hashes of the literal rules and f.passages, and returns how many these rules are.
func (f *filer) hashPrefixes(x *index) (literals int) {
	f.passages = f.passages[:0]
	for i := range f.rules {
		p := &f.rules[i]
		if p.tag() == tagWild {
			continue
		}
		prefix := prefixOf(p.essence())
		if prefix == "" {
			continue
		}
		literals++
		x.longest = max(x.longest, uint32(len(prefix)))
		x.lengths |= 1 << min(len(prefix)/2, 63)
		state := uint64(0)
		for len(prefix) > blockSize {
			state = mix(state, load64(prefix))
			f.passages = append(f.passages, passage(state))
			prefix = prefix[blockSize:]
		}
		f.hashes[i] = mix(state, blockOf(prefix))
	}
	slices.Sort(f.passages)
	f.passages = slices.Compact(f.passages)
	return literals
}

// longestPrefix returns the literal rule that decides, or none. sure is false where the target has an octet, at a place
// that matters, of which escape.go may think otherwise: then the answer is right only if the target is in that form.
func (r *Rules) longestPrefix(target string) (best int, sure bool) {
	x := r.index
	best, sure = none, true
	state := uint64(0)
	for from := 0; ; from += blockSize {
		rest := target[from:]
		lengths := ^uint64(0) // as bits: where in this block some key ends
		if from < 63*2-blockSize {
			lengths = x.lengths >> (from / 2)
		}
		var block uint64
		if len(rest) >= blockSize {
			block = load64(rest)
			sure = sure && isPlainBlock(block)
		} else {
			block = blockOf(rest)
			sure = sure && isPlainBlock(block|plainBlock<<(8*len(rest)))
			lengths &= 1<<(len(rest)/2+1) - 1
		}
		for within := lengths & (1<<(blockSize/2) - 2); within != 0; within &= within - 1 {
			hash := mix(state, block&(1<<(16*bits.TrailingZeros64(within)&63)-1))
			if x.hasPrefix(hash) {
				best, sure = r.tryPrefixes(hash, target, best, sure)
			}
		}
		if len(rest) < blockSize {
			return best, sure
		}
		state = mix(state, block)
		if lengths>>(blockSize/2)&1 != 0 && x.hasPrefix(state) {
			best, sure = r.tryPrefixes(state, target, best, sure)
		}
		if from+blockSize >= int(x.longest) || !x.hasPrefix(passage(state)) {
			return best, sure
		}
	}
}

// hasPrefix reports whether something is filed under the hash of a prefix, or passes there.
func (x *index) hasPrefix(hash uint64) bool {
	bit := spread(hash, x.prefixes*wordBits)
	word := bit / wordBits
	return word < uint64(len(x.table)) && x.table[word]>>(bit%wordBits)&1 != 0
}

// tryPrefixes tries the literal rules that are filed under a hash.
func (r *Rules) tryPrefixes(hash uint64, target string, best int, sure bool) (int, bool) {
	tag := tagOf(hash)
	for at, to := r.index.bucket(hash); at < to; {
		h := head(load64(r.text[at:]))
		if h.tag() != tag && h&headRare == 0 {
			at += headSize + h.length()
			continue
		}
		p := r.rule(at)
		if p.tag() == tag {
			matches, sureOfIt := matchesLiteral(p.pattern, target)
			if matches {
				best = r.better(at, best)
			}
			sure = sure && sureOfIt
		}
		at = p.next
	}
	return best, sure
}

// matchesLiteral reports whether a target begins with the literalPart of a pattern, and whether that is sure.
func matchesLiteral(pattern, target string) (matches, sure bool) {
	if strings.HasPrefix(target, pattern) {
		return true, pattern[len(pattern)-1] != '$' // which would be the end, and the target's an octet
	}
	return differsLiteral(strings.TrimRight(pattern, "*"), target)
}

// differsLiteral is matchesLiteral where it takes a closer look.
func differsLiteral(literal, target string) (matches, sure bool) {
	n := commonPrefix(literal, target)
	switch {
	case n == len(literal):
		return true, true
	case n == len(target):
		return literal[n:] == "$", true
	default:
		return false, isPlain(target[n])
	}
}

// commonPrefix returns how many octets two strings have in common at their beginning.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := load64(a[i:]) ^ load64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
