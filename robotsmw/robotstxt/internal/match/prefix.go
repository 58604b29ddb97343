package match

import "math/bits"

// A pattern without wildcards is a prefix of what it matches. It is filed under
// a prefix of its own, the longest of an even length, and a target is looked up
// by each of its prefixes of an even length that occurs. Patterns that have
// their key in common are then of the same length, or differ by one byte: there
// are never many.
//
// The target is taken in blocks of eight bytes. Where no pattern goes on with
// the next block, nothing can be filed beyond it: for each whole number of
// blocks that some key goes on from, the filter has a passage. prefixBits is
// how many bits of the filter there are for each key, if there is room.
const prefixBits = 16

// plainBlock is a block of plain bytes.
const plainBlock = 0x6161616161616161

// prefixOf returns what a literal pattern is filed under: "" if it is too
// short.
func prefixOf(literal string) string {
	n := len(literal)
	if n > 0 && literal[n-1] == '$' {
		n--
	}
	return literal[:n&^1]
}

// passagesOf returns how many passages a key takes.
func passagesOf(prefix string) int { return max(len(prefix)-1, 0) / blockSize }

// hashPrefixes fills in the hashes of the literal rules, and returns how many
// these rules are. It adds the hashes of what their patterns go on from.
func (x *index) hashPrefixes(rules []looseRule, hashes []uint64, passages *hashSet) (literals int) {
	for i := range rules {
		p := &rules[i]
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
			passages.add(passage(state))
			prefix = prefix[blockSize:]
		}
		hashes[i] = mix(state, blockOf(prefix))
	}
	return literals
}

// longestPrefix returns the literal rule that decides, or none. sure is false
// where the target has a byte, at a place that matters, of which escape.go may
// think otherwise: then the answer is right only if the target is in that form.
func (x *index) longestPrefix(target string) (best int, sure bool) {
	best, sure = None, true
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
				best, sure = x.tryPrefixes(hash, target, best, sure)
			}
		}
		if len(rest) < blockSize {
			return best, sure
		}
		state = mix(state, block)
		if lengths>>(blockSize/2)&1 != 0 && x.hasPrefix(state) {
			best, sure = x.tryPrefixes(state, target, best, sure)
		}
		if from+blockSize >= int(x.longest) || !x.hasPrefix(passage(state)) {
			return best, sure
		}
	}
}

// hasPrefix reports whether something is filed under the hash of a prefix, or
// passes there.
func (x *index) hasPrefix(hash uint64) bool {
	bit := spread(hash, x.prefixes*wordBits)
	word := bit / wordBits
	return word < uint64(len(x.table)) && x.table[word]>>(bit%wordBits)&1 != 0
}

// tryPrefixes tries the literal rules that are filed under a hash.
func (x *index) tryPrefixes(hash uint64, target string, best int, sure bool) (int, bool) {
	rules, tag := x.rules, tagOf(hash)
	for at, to := x.bucket(hash); at < to; {
		h := head(load64(string(rules[at:])))
		if h.tag() != tag && h&headRare == 0 {
			at += headSize + h.length()
			continue
		}
		p := rules.rule(at)
		if p.tag() == tag {
			matches, sureOfIt := matchesLiteral(p.pattern, target)
			if matches {
				best = rules.better(at, best)
			}
			sure = sure && sureOfIt
		}
		at = p.next
	}
	return best, sure
}
