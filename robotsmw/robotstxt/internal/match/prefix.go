package match

import "math/bits"

// A pattern without wildcards is a prefix of the targets that it matches. The
// key of such a pattern is the pattern without its "$", cut to an even length.
// The index looks for each prefix of a target that is as long as some key.
// Without its "$", a pattern is at most one byte longer than its key. So only a
// few patterns can have the same key.
//
// The index reads the target in blocks of eight bytes. The search ends when no
// key continues after the blocks that have been read. For this, the filter also
// has passages. A passage is a hash of the first blocks of a key that has
// further blocks.
//
// prefixBits is how many bits the filter has for each key and passage, if there
// is room.
const prefixBits = 16

const plainBlock = 0x6161616161616161

// prefixOf returns the key of a literal pattern, or "" if the pattern is too
// short.
func prefixOf(literal string) string {
	n := len(literal)
	if n > 0 && literal[n-1] == '$' {
		n--
	}
	return literal[:n&^1]
}

func passagesOf(prefix string) int { return max(len(prefix)-1, 0) / blockSize }

// hashPrefixes sets the hash of each literal rule to that of its key, and
// returns how many rules have a key. It adds the passages of the keys to its
// last argument, and records the lengths of the keys in x.
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

// longestPrefix returns the rule that decides among the literal rules with a
// key, or None. sure is false if the result depends on a byte of the target
// that may be different in canonical form. The result is then right only for a
// target that is in canonical form already.
func (x *index) longestPrefix(target string) (best int, sure bool) {
	best, sure = None, true
	state := uint64(0)
	for from := 0; ; from += blockSize {
		rest := target[from:]
		lengths := ^uint64(0) // bit n is set if a key may end 2n bytes into this block
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

// hasPrefix reports whether the filter has the hash of a key or a passage. By
// chance, it may return true for a hash that was never added.
func (x *index) hasPrefix(hash uint64) bool {
	bit := spread(hash, x.prefixes*wordBits)
	word := bit / wordBits
	return word < uint64(len(x.table)) && x.table[word]>>(bit%wordBits)&1 != 0
}

// tryPrefixes tries the literal rules whose key has this hash. It returns the
// rule that decides: one of these, or the best one so far. The second result is
// false if the argument sure is false, or if matchesLiteral is not sure whether
// one of these rules matches.
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
