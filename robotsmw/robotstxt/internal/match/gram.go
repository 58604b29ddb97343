package match

import (
	"math/bits"
	"strings"
)

// Patterns with wildcards can match anywhere, but most contain four bytes in a
// row, a gram, that few targets have. Each is filed under its rarest gram, so
// that a pattern is tried only on a target that contains it.
//
// What has no four literal bytes in a row stands apart, and is tried on every
// target. minIndexed is how many rules with wildcards are worth an index.
const minIndexed = 10

// gramBits is how many bits of the filter there are for each rule, if there is
// room, and minGramBits how many there are at least.
const gramBits, minGramBits = 24, 512

// gramScratch is what choosing grams takes.
type gramScratch struct {
	hashes []uint64 // of grams, rule by rule
	ends   []int    // where those of each rule end
	counts []uint32 // by the hash of a gram: how often patterns have it, or more
}

// hashRarest fills in the hashes of the rules with wildcards, and returns how
// many these rules are.
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
			// Of equals the last: what comes late in a pattern tends to be
			// rarer in targets, too.
			if n := counts[hash>>(64-size)]; rarest == 0 || n <= rarest {
				rarest, hashes[i] = n, hash
			}
		}
		start = end
	}
	return wild
}

// appendGrams appends the hashes of the grams of a pattern. A pattern with an
// eitherEscape, of which not all bytes are literal, has none.
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

// tryGrams returns the one of best and the rules filed under grams of the
// target that decides, or TooMuch.
func (x *index) tryGrams(s *search, best int) int {
	filter := x.gramFilter()
	size := uint32(len(filter) * wordBits)
	tried := uint64(1) << 32 // none
	for rest := s.target; len(rest) >= gramSize; rest = rest[1:] {
		gram := load32(rest)
		hash := hashGram(gram)
		bit := spread(hash, size)
		if filter[bit/wordBits]>>(bit%wordBits)&1 == 0 || uint64(gram) == tried {
			continue // the latter in a run of one letter
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
	if s.seen != nil && !s.seen.isFirst(s.target, at) { // trying a rule once is enough
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
