package robotstxt

import (
	"encoding/binary"
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
	next   []byte       // by rule: in a leaf, the octet at the leaf's depth
}

// A prefixNode stands for a stretch of the group's rules.
type prefixNode struct {
	depth uint32 // how many octets all its patterns share
	child uint32 // the first of its children, which stand together; 0 in a leaf
	above uint32 // one more than the nearest node above it with a pattern that ends there; 0 for none
	first uint16 // the first of its rules
	count uint8  // how many children; in a leaf, how many rules are to be tried
	ended bool   // whether the first rule's pattern ends at depth: that one is not to be tried, it matches
}

// maxLeaf is how many patterns are tried one by one rather than told apart by a node.
const maxLeaf = 24

// padding is what lets findOctet look at eight octets where there are fewer.
const padding = 7

// buildPrefixIndex returns the index of literal rules, and those of them that are of use in the order that the
// index needs.
func buildPrefixIndex(rules []draft) (prefixIndex, []draft) {
	b := prefixBuilder{
		prefixIndex: prefixIndex{
			nodes:  make([]prefixNode, 1),
			labels: make([]byte, 1, 1+padding),
			next:   make([]byte, 0, len(rules)+padding),
		},
		sorted: make([]draft, 0, len(rules)),
	}
	b.build(0, 0, rules, make([]draft, len(rules)), 0)
	b.labels = append(b.labels, make([]byte, padding)...)
	b.next = append(b.next, make([]byte, padding)...)
	return b.prefixIndex, b.sorted
}

type prefixBuilder struct {
	prefixIndex
	sorted []draft
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
	for c := 1; c < 256; c++ {
		if starts[c] < starts[c+1] {
			node.count++
		}
	}
	child := len(b.nodes)
	node.child = uint32(child)
	b.nodes = append(b.nodes, make([]prefixNode, node.count)...)
	b.labels = append(b.labels, make([]byte, node.count)...)
	for c := 1; c < 256; c++ {
		if n := starts[c+1] - starts[c]; n > 0 {
			b.labels[child] = byte(c)
			b.build(child, above, rules[:n], scratch, depth)
			rules = rules[n:]
			child++
		}
	}
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
	if len(r.prefixes.nodes) == 0 {
		return best, true
	}
	nodes := r.prefixes.nodes
	node, octet := &nodes[0], byte(0)
descent:
	for int(node.depth) <= len(target) {
		octet = '$'
		if int(node.depth) < len(target) {
			octet = target[node.depth]
		}
		if node.child == 0 {
			break
		}
		labels := r.prefixes.labels[node.child : int(node.child)+int(node.count)+padding]
		for i := 0; i < int(node.count); i += 8 {
			if found := findOctet(labels[i:], octet); found != 0 {
				if i += bits.TrailingZeros64(found) / 8; i >= int(node.count) {
					break descent
				}
				node = &nodes[int(node.child)+i]
				continue descent
			}
		}
		break
	}

	depth := int(node.depth)
	shared := min(depth, commonPrefix(r.text[r.rules[node.first].start:], target))
	sure = shared == len(target) || isPlain(target[shared])
	if node.ended && depth == shared {
		best = int(node.first)
	}
	for above := node.above; above != 0; above = nodes[above-1].above {
		if int(nodes[above-1].depth) <= shared {
			best = r.better(int(nodes[above-1].first), best)
		}
	}
	if node.child != 0 || depth > shared {
		return best, sure
	}

	first := int(node.first)
	if node.ended {
		first++
	}
	next := r.prefixes.next[first : first+int(node.count)+padding]
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

// findOctet returns a bit for each of the first eight octets of b that is c: the highest one of its place.
func findOctet(b []byte, c byte) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	x := binary.LittleEndian.Uint64(b) ^ ones*uint64(c)
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
