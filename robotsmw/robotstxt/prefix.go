package robotstxt

import (
	"math/bits"
	"strings"
)

// Patterns without wildcards are prefixes of what they match. A prefixIndex finds those of a group that a target
// begins with, in a time that depends on the target and hardly on their number. It is a trie: its nodes skip
// what all their patterns have in common and part them by the octet after that, until so few are left that they
// can be tried one by one. For a small group it is one leaf, that is, nothing but a scan.
//
// The octets by which a leaf's patterns are told apart stand together, at the beginning of [Rules].text, so that
// eight of them are looked at in one go.
type prefixIndex struct {
	nodes []prefixNode // the first is the root
	sets  []octetSet   // which octets lead to a node's children
}

// A prefixNode stands for a stretch of the group's rules.
type prefixNode struct {
	depth uint32 // how many octets all its patterns share
	child uint32 // the first of its children, which stand together; 0 in a leaf
	above uint32 // one more than the nearest node above it with a pattern that ends there; 0 for none
	first uint16 // the first of its rules
	set   uint16 // its octetSet; there is none in a leaf
	count uint8  // in a leaf: how many rules are to be tried
	ended bool   // whether the first rule's pattern ends at depth: that one is not to be tried, it matches
}

// maxLeaf is how many patterns are tried one by one rather than told apart by a node.
const maxLeaf = 24

// buildPrefixIndex returns the index of literal rules, those of them that are of use in the order that the index
// needs, and for each of these the octet at the depth of its leaf.
func buildPrefixIndex(rules []draft) (index prefixIndex, sorted []draft, next []byte) {
	b := prefixBuilder{
		prefixIndex: prefixIndex{nodes: make([]prefixNode, 1)},
		sorted:      make([]draft, 0, len(rules)),
		next:        make([]byte, 0, len(rules)),
	}
	b.build(0, 0, rules, make([]draft, len(rules)), 0)
	return b.prefixIndex, b.sorted, b.next
}

type prefixBuilder struct {
	prefixIndex
	sorted []draft
	next   []byte
}

// build makes node id, below another, that of some rules whose patterns share their first depth octets.
func (b *prefixBuilder) build(id int, above uint32, rules, scratch []draft, depth int) {
	if len(rules) > 0 {
		shared := rules[0].literal()[depth:]
		for i := range rules[1:] {
			shared = shared[:commonPrefix(shared, rules[1+i].literal()[depth:])]
		}
		depth += len(strings.TrimSuffix(shared, "$"))
	}
	b.nodes[id] = prefixNode{depth: uint32(depth), above: above, first: uint16(len(b.sorted))}
	node := &b.nodes[id]

	// Deal the rules out by their next octet, beginning with those that end here.
	var starts [257]int32
	for i := range rules {
		starts[1+int(octetAt(rules[i].literal(), depth))]++
	}
	for c := range 256 {
		starts[c+1] += starts[c]
	}
	places := starts
	for i := range rules {
		c := octetAt(rules[i].literal(), depth)
		scratch[places[c]] = rules[i]
		places[c]++
	}
	copy(rules, scratch)

	if ended := rules[:starts[1]]; len(ended) > 0 {
		node.ended = true
		above = uint32(id) + 1
		b.keep(decisive(ended), 0)
		rules = rules[len(ended):]
	}
	if atEnd := rules[:starts['$'+1]-starts['$']]; len(atEnd) > 1 && len(atEnd) == len(rules) {
		rules = []draft{decisive(atEnd)}
	}
	if len(rules) <= maxLeaf {
		node.count = uint8(len(rules))
		for i := range rules {
			b.keep(rules[i], octetAt(rules[i].literal(), depth))
		}
		return
	}
	var set octetSet
	children := 0
	for c := 1; c < 256; c++ {
		if starts[c] < starts[c+1] {
			set.add(byte(c))
			children++
		}
	}
	child := len(b.nodes)
	node.child, node.set = uint32(child), uint16(len(b.sets))
	b.sets = append(b.sets, set)
	b.nodes = append(b.nodes, make([]prefixNode, children)...)
	for c := 1; c < 256; c++ {
		if n := starts[c+1] - starts[c]; n > 0 {
			b.build(child, above, rules[:n], scratch, depth)
			rules = rules[n:]
			child++
		}
	}
}

// An octetSet is a set of ASCII octets, a bit for each.
type octetSet [2]uint64

func (s *octetSet) add(c byte) { s[c>>6&1] |= 1 << (c & 63) }

// index returns how many octets of the set come before c, and whether c is one of them.
func (s *octetSet) index(c byte) (i int, ok bool) {
	word, bit := s[c>>6&1], uint64(1)<<(c&63)
	i = bits.OnesCount64(word & (bit - 1))
	if c>>6&1 == 1 {
		i += bits.OnesCount64(s[0])
	}
	return i, word&bit != 0
}

// keep adds a rule to those that are of use.
func (b *prefixBuilder) keep(rule draft, next byte) {
	b.sorted = append(b.sorted, rule)
	b.next = append(b.next, next)
}

// decisive returns the one of several rules with the same literal that decides wherever they match.
func decisive(rules []draft) draft {
	best := &rules[0]
	for i := range rules {
		if rules[i].overrides(best) {
			best = &rules[i]
		}
	}
	return *best
}

// octetAt returns s[i], and at the end of s 0, which no pattern contains.
func octetAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// longestPrefix returns the rule that decides among those without wildcards, or none. sure is false where the
// target has an octet, at a place that matters, of which escape.go may think otherwise: then the answer is right
// only if the target is in that form.
//
// The way down looks only at the octets that part patterns. What they share is compared once, at the end.
func (r *Rules) longestPrefix(target string) (best int, sure bool) {
	best = none
	if r.literals == 0 {
		return best, true
	}
	node, octet := &r.root, byte(0)
	for int(node.depth) <= len(target) {
		octet = '$'
		if int(node.depth) < len(target) {
			octet = target[node.depth]
		}
		if node.child == 0 {
			break
		}
		i, ok := r.index.sets[node.set].index(octet)
		if !ok {
			break
		}
		node = &r.index.nodes[int(node.child)+i]
	}

	depth := int(node.depth)
	shared := min(depth, commonPrefix(r.text[r.rules[node.first].start:], target))
	sure = shared == len(target) || isPlain(target[shared])
	if node.ended && depth == shared {
		best = int(node.first)
	}
	for above := node.above; above != 0; {
		ended := &r.index.nodes[above-1]
		if int(ended.depth) <= shared {
			best = r.better(int(ended.first), best)
		}
		above = ended.above
	}
	if node.child != 0 || depth > shared {
		return best, sure
	}

	first := int(node.first)
	if node.ended {
		first++
	}
	next := r.text[first:]
	for i := 0; i < int(node.count); i += 8 {
		for found := findOctet(next[i:], octet); found != 0; found &= found - 1 {
			j := i + bits.TrailingZeros64(found)/8
			if j >= int(node.count) {
				break
			}
			matches, sureOfIt := matchesLiteral(r.literal(first + j)[depth:], target[depth:])
			if matches {
				best = r.better(first+j, best)
			}
			sure = sure && sureOfIt
		}
	}
	return best, sure
}

// matchesLiteral reports whether a target begins with a pattern, and whether that is sure.
func matchesLiteral(pattern, target string) (matches, sure bool) {
	n := commonPrefix(pattern, target)
	switch {
	case n == len(pattern):
		return true, pattern[n-1] != '$' // which would be the end, and the target's an octet
	case n == len(target):
		return pattern[n:] == "$", true
	default:
		return false, isPlain(target[n])
	}
}

// findOctet returns a bit for each of the first eight octets of s that is c: the highest one of its place.
func findOctet(s string, c byte) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	x := load64(s) ^ ones*uint64(c)
	return ^((x&^highs + ^uint64(highs)) | x) & highs
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
