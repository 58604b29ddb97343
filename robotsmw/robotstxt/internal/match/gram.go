package match

import (
	"math/bits"
	"strings"
)

// The bytes after a wildcard of a pattern can be anywhere in a target. But most
// patterns with wildcards contain four literal bytes in a row that few targets
// have. Four bytes in a row are a gram. In the index, each pattern is filed
// under its rarest gram. It is tried only on targets with that gram. A pattern
// without a gram is tried on every target.
//
// If a group has fewer than minIndexed rules with wildcards, these rules are
// not filed under grams. They are tried on every target.
const minIndexed = 10

// The filter of grams has gramBits bits for each rule with wildcards, but not
// less than minGramBits bits. The method fit makes the filter smaller if the
// index would take too much memory.
const gramBits, minGramBits = 24, 512

type gramScratch struct {
	hashes []uint64 // the hashes of the patterns' grams, rule by rule
	ends   []int    // where the hashes of each rule end
	counts []uint32 // how many grams there are, by the upper bits of their hashes
}

// hashRarest sets the hash of each rule with wildcards to that of its rarest
// gram, if it has a gram. It returns how many rules have wildcards. If these
// are fewer than minIndexed, it sets nothing and returns 0.
func (g *gramScratch) hashRarest(rules []looseRule, hashes []uint64) (wild int) {
	for i := range rules {
		if rules[i].tag() == tagWild {
			wild++
		}
	}
	if wild < minIndexed {
		return 0
	}
	size := 2 + bits.Len(uint(wild))
	counts := zeroed(&g.counts, 1<<size)
	grams, ends := g.hashes[:0], g.ends[:0]
	for i := range rules {
		first := len(grams)
		if p := &rules[i]; p.tag() == tagWild {
			grams = appendGrams(grams, p.pattern)
		}
		for _, hash := range grams[first:] {
			counts[hash>>(64-size)]++
		}
		ends = append(ends, len(grams))
	}
	g.hashes, g.ends = grams, ends
	start := 0
	for i, end := range ends {
		rarest := uint32(0)
		for _, hash := range grams[start:end] {
			// Of equally rare grams, take the one nearest to the pattern's end:
			// the later bytes of a pattern tend to be rarer in targets.
			if n := counts[hash>>(64-size)]; rarest == 0 || n <= rarest {
				rarest, hashes[i] = n, hash
			}
		}
		start = end
	}
	return wild
}

// appendGrams appends the hashes of a pattern's grams. It appends nothing for a
// pattern with an eitherEscape, because not all of its bytes are literal.
func appendGrams(hashes []uint64, pattern string) []uint64 {
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
		if run++; run >= gramSize {
			hashes = append(hashes, hashGram(gram))
		}
	}
	return hashes
}

// tryGrams tries the rules that are filed under the target's grams. The
// argument best is the rule that decides if none of these rules does, or None.
// tryGrams returns the rule that decides: best, or one of the rules that it
// tries. If the search runs out of steps, tryGrams returns TooMuch.
func (x *index) tryGrams(s *search, best int) int {
	filter := x.gramFilter()
	size := uint32(len(filter) * wordBits)
	tried := uint64(1) << 32 // no gram has this value
	for rest := s.target; len(rest) >= gramSize; rest = rest[1:] {
		gram := load32(rest)
		hash := hashGram(gram)
		bit := spread(hash, size)
		if filter[bit/wordBits]>>(bit%wordBits)&1 == 0 || uint64(gram) == tried {
			continue // no rule has the gram, or it was just tried, as in "aaaaa"
		}
		tried = uint64(gram)
		if best = x.tryGram(s, hash, len(s.target)-len(rest), best); best == TooMuch {
			break
		}
	}
	return best
}

// tryGram tries the rules that are filed under the gram at target[at:].
func (x *index) tryGram(s *search, hash uint64, at, best int) int {
	from, to := x.bucket(hash)
	if s.seen != nil && !s.seen.isFirst(s.target, at) { // the rules of this gram have been tried before
		return best
	}
	tag := tagOf(hash)
	for from < to {
		if !s.spend(glance) {
			return TooMuch
		}
		h := head(load64(string(s.rules[from:])))
		if h.tag() != tag && h&headRare == 0 {
			from += headSize + h.length()
			continue
		}
		p := s.rules.rule(from)
		if p.tag() == tag && !s.rules.isOverridden(&p, best) {
			if best = s.try(from, &p, best); best == TooMuch {
				return TooMuch
			}
		}
		from = p.next
	}
	return best
}
