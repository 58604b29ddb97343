package robotstxt

import (
	"math/bits"
	"strings"
)

// Patterns without wildcards are prefixes of what they match. A prefixIndex finds those of a group that a target
// begins with, in a time that depends on the target and hardly on their number. It is a trie: its inner nodes
// skip what all their patterns have in common and part them by the octet after that; its leaves are a few
// patterns, to be tried one by one. For a small group it is one leaf, that is, nothing but a scan.
type prefixIndex []prefixNode // the first is the root

// A prefixNode stands for a stretch of the group's rules.
type prefixNode struct {
	first uint16 // the first of its rules; in an inner node the one whose pattern ends at depth, if there is one
	count uint16 // leaf: how many rules; inner node: how many children
	child uint32 // inner node: the first of its children, which stand together; 0 in a leaf
	depth uint32 // inner node: how many octets all its patterns share
	octet byte   // what its patterns have at its parent's depth
}

// maxLeaf is how many patterns are tried one by one rather than told apart by a node.
const maxLeaf = 12

// buildPrefixIndex puts drafts of literal rules into the order that their index needs.
func buildPrefixIndex(rules []draft) prefixIndex {
	b := prefixBuilder{nodes: make(prefixIndex, 1), rules: rules}
	b.build(0, 0, len(rules), 0)
	return b.nodes
}

type prefixBuilder struct {
	nodes          prefixIndex
	rules, scratch []draft
}

// build makes node id that of the rules from first to last, whose patterns share their first depth octets.
func (b *prefixBuilder) build(id, first, last, depth int) {
	node := &b.nodes[id]
	node.first = uint16(first)
	rules := b.rules[first:last]
	if len(rules) <= maxLeaf {
		node.count = uint16(len(rules))
		return
	}
	shared := rules[0].literal()[depth:]
	for i := range rules[1:] {
		shared = shared[:commonPrefix(shared, rules[1+i].literal()[depth:])]
	}
	depth += len(shared)
	node.depth = uint32(depth)

	// Deal the rules out by their next octet, those first that end here.
	var starts [257]uint16
	for i := range rules {
		starts[1+int(octetAt(rules[i].literal(), depth))]++
	}
	for c := range 256 {
		if c > 0 && starts[c+1] > 0 {
			node.count++
		}
		starts[c+1] += starts[c]
	}
	if b.scratch == nil {
		b.scratch = make([]draft, len(b.rules))
	}
	copy(b.scratch, rules)
	next := starts
	for _, r := range b.scratch[:len(rules)] {
		c := octetAt(r.literal(), depth)
		rules[next[c]] = r
		next[c]++
	}
	// Of rules with the same pattern one is enough: where they match, it decides.
	ended := int(starts[1])
	for i := 1; i < ended; i++ {
		if rules[i].overrides(&rules[0]) {
			rules[0], rules[i] = rules[i], rules[0]
		}
	}
	if ended == len(rules) {
		node.count = 1
		return
	}

	child := len(b.nodes)
	node.child = uint32(child)
	b.nodes = append(b.nodes, make(prefixIndex, node.count)...)
	for c := 1; c < 256; c++ {
		if from, to := int(starts[c]), int(starts[c+1]); from < to {
			b.nodes[child].octet = byte(c)
			b.build(child, first+from, first+to, depth)
			child++
		}
	}
}

// octetAt returns s[i], and at the end of s 0, which no pattern contains.
func octetAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// longestPrefix returns the rule that decides among those without wildcards, or none. sure is false where the
// target has an octet, at a place that matters, which may be the same as another one: the answer is right only if
// the target is in the form of escape.go.
func (r *Rules) longestPrefix(target string) (best int, sure bool) {
	best, sure = none, true
	if len(r.prefixes) == 0 {
		return
	}
	depth := 0
	for node := &r.prefixes[0]; ; {
		if node.child == 0 {
			leafBest, leafSure := r.tryLeaf(node, target, depth, best)
			return leafBest, leafSure
		}
		first := r.literal(int(node.first))
		if skip := int(node.depth) - depth; skip > 0 {
			n := commonPrefix(first[depth:node.depth], target[depth:])
			depth += n
			if n < skip {
				return best, depth == len(target) || isPlain(target[depth])
			}
		}
		if len(first) == depth {
			best = r.better(int(node.first), best)
		}
		octet := byte('$')
		if depth < len(target) {
			octet = target[depth]
		}
		children := r.prefixes[node.child : node.child+uint32(node.count)]
		node = nil
		for i := range children {
			if children[i].octet == octet {
				node = &children[i]
				break
			}
		}
		if node == nil {
			return best, depth == len(target) || isPlain(octet)
		}
	}
}

// tryLeaf tries the rules of a leaf, of which the first depth octets are known to match.
func (r *Rules) tryLeaf(leaf *prefixNode, target string, depth, best int) (decides int, sure bool) {
	sure = true
	rest := target[depth:]
	for i := int(leaf.first); i < int(leaf.first)+int(leaf.count); i++ {
		pattern := r.literal(i)[depth:]
		n := commonPrefix(pattern, rest)
		switch {
		case n == len(rest) && n == len(pattern)-1 && pattern[n] == '$':
			best = r.better(i, best)
		case n == len(pattern) && n > 0 && pattern[n-1] == '$':
			sure = false // that "$" was the end, and the target's is an octet
		case n == len(pattern):
			best = r.better(i, best)
		case n < len(rest) && !isPlain(rest[n]):
			sure = false
		}
	}
	return best, sure
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

// literal returns what rule i, which has no wildcard that matters, comes down to.
func (r *Rules) literal(i int) string { return strings.TrimRight(r.pattern(i), "*") }
