package robotstxt

import (
	"bytes"
	"math/bits"
	"strings"
)

// Patterns without wildcards are prefixes of what they match. A prefixIndex finds those of a group that a target
// begins with, in a time that depends on the target and hardly on their number. It is a trie: its nodes skip
// what all their patterns have in common and part them by the octet after that, until so few are left that they
// can be tried one by one. For a small group it is one leaf, that is, nothing but a scan.
type prefixIndex struct {
	nodes  []prefixNode // the first is the root
	labels []byte       // by node: the octet at the parent's depth
	next   []byte       // by rule of a leaf: the octet at the leaf's depth, 0 where the pattern ends there
}

// A prefixNode stands for a stretch of the group's rules.
type prefixNode struct {
	depth uint32 // how many octets all its patterns share
	child uint32 // the first of its children, which stand together; 0 in a leaf
	first uint16 // the first of its rules; with children, the one whose pattern ends at depth, if there is one
	count uint16 // how many children; in a leaf, how many rules
}

// maxLeaf is how many patterns are tried one by one rather than told apart by a node.
const maxLeaf = 12

// buildPrefixIndex puts drafts of literal rules into the order that their index needs.
func buildPrefixIndex(rules []draft) prefixIndex {
	b := prefixBuilder{
		prefixIndex: prefixIndex{make([]prefixNode, 1), make([]byte, 1), make([]byte, len(rules))},
		rules:       rules,
	}
	b.build(0, 0, len(rules), 0)
	return b.prefixIndex
}

type prefixBuilder struct {
	prefixIndex
	rules, scratch []draft
}

// build makes node id that of the rules from first to last, whose patterns share their first depth octets.
func (b *prefixBuilder) build(id, first, last, depth int) {
	rules := b.rules[first:last]
	if len(rules) > 0 {
		shared := rules[0].literal()[depth:]
		for i := range rules[1:] {
			shared = shared[:commonPrefix(shared, rules[1+i].literal()[depth:])]
		}
		depth += len(strings.TrimSuffix(shared, "$"))
	}
	node := &b.nodes[id]
	*node = prefixNode{depth: uint32(depth), first: uint16(first)}
	if len(rules) <= maxLeaf {
		b.leaf(node, rules, depth)
		return
	}

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
	// Of rules with the same pattern one is enough: where they match, it decides.
	same := rules[:starts[1]]
	if ends := starts['$'+1] - starts['$']; int(ends) == len(rules) {
		same = rules
	}
	if len(same) == len(rules) {
		putFirst(same)
		b.leaf(node, same[:1], depth)
		return
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
	putFirst(same)
	child := len(b.nodes)
	node.child = uint32(child)
	b.nodes = append(b.nodes, make([]prefixNode, node.count)...)
	b.labels = append(b.labels, make([]byte, node.count)...)
	for c := 1; c < 256; c++ {
		if from, to := int(starts[c]), int(starts[c+1]); from < to {
			b.labels[child] = byte(c)
			b.build(child, first+from, first+to, depth)
			child++
		}
	}
}

// leaf makes a node one whose rules are tried one by one.
func (b *prefixBuilder) leaf(node *prefixNode, rules []draft, depth int) {
	node.count = uint16(len(rules))
	for i := range rules {
		b.next[int(node.first)+i] = octetAt(rules[i].literal(), depth)
	}
}

// putFirst puts the rule first that decides where all of them match.
func putFirst(rules []draft) {
	for i := range rules {
		if rules[i].overrides(&rules[0]) {
			rules[0], rules[i] = rules[i], rules[0]
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
// target has an octet, at a place that matters, of which escape.go may think otherwise: then the answer is right
// only if the target is in that form.
func (r *Rules) longestPrefix(target string) (best int, sure bool) {
	best, sure = none, true
	if len(r.prefixes.nodes) == 0 {
		return
	}
	node, depth, octet := &r.prefixes.nodes[0], 0, byte(0)
	for {
		start := r.rules[node.first].start
		shared := r.text[start+uint32(depth) : start+node.depth]
		depth += commonPrefix(shared, target[depth:])
		octet = '$'
		if depth < len(target) {
			octet = target[depth]
			sure = isPlain(octet)
		}
		if depth < int(node.depth) {
			return best, sure
		}
		if node.child == 0 {
			break
		}
		if len(r.literal(int(node.first))) == depth {
			best = r.better(int(node.first), best)
		}
		child := bytes.IndexByte(r.prefixes.labels[node.child:node.child+uint32(node.count)], octet)
		if child < 0 {
			return best, sure
		}
		node = &r.prefixes.nodes[int(node.child)+child]
	}
	rules := r.prefixes.next[node.first : int(node.first)+int(node.count)]
	for i, c := range rules {
		if c != octet && c != 0 {
			continue
		}
		i += int(node.first)
		if c == 0 || depth == len(target) {
			best = r.better(i, best)
			continue
		}
		pattern, rest := r.literal(i)[depth:], target[depth:]
		n := commonPrefix(pattern, rest)
		switch {
		case n == len(pattern) && pattern[n-1] != '$', n == len(rest) && pattern[n:] == "$":
			best = r.better(i, best)
		case n == len(pattern):
			sure = false // its "$" is the end, and the target's is an octet
		case n < len(rest):
			sure = sure && isPlain(rest[n])
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
