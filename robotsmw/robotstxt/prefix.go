package robotstxt

import (
	"iter"
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

// buildPrefixes puts the literal rules, which come first, into the order that their index needs, drops those that
// are of no use, and returns the number of those left.
func (c *compiler) buildPrefixes(literals int) int {
	c.prefixes.nodes = append(c.prefixes.nodes[:0], prefixNode{})
	c.prefixes.sets = c.prefixes.sets[:0]
	c.kept = 0
	c.build(0, 0, c.drafts[:literals], 0)
	return c.kept
}

// build makes node id, below another, that of some rules whose patterns share their first depth octets.
func (c *compiler) build(id int, above uint32, rules []draft, depth int) {
	depth += c.sharedLength(rules, depth)
	node := prefixNode{depth: uint32(depth), above: above, first: uint16(c.kept)}
	if ended := endingFirst(rules, depth); ended > 0 {
		c.keep(decisive(rules[:ended]), 0)
		rules = rules[ended:]
		node.ended, above = true, uint32(id)+1
	}
	if len(rules) <= maxLeaf {
		node.count = uint8(len(rules))
		for i := range rules {
			c.keep(rules[i], c.octet(&rules[i], depth))
		}
		c.prefixes.nodes[id] = node
		return
	}
	octets, starts := c.deal(rules, depth)
	if octets == (octetSet{}).with('$') { // they are all the same
		node.count = 1
		c.keep(decisive(rules), '$')
		c.prefixes.nodes[id] = node
		return
	}
	child := len(c.prefixes.nodes)
	node.child, node.set = uint32(child), uint16(len(c.prefixes.sets))
	c.prefixes.nodes[id] = node
	c.prefixes.sets = append(c.prefixes.sets, octets)
	for range octets.len() {
		c.prefixes.nodes = append(c.prefixes.nodes, prefixNode{})
	}
	for octet := range octets.all() {
		c.build(child, above, rules[starts[octet]:starts[octet+1]], depth)
		child++
	}
}

// keep puts a rule into its place, where one was that has been dealt with.
func (c *compiler) keep(rule draft, next byte) {
	rule.next = next
	c.drafts[c.kept] = rule
	c.kept++
}

// octet returns what a literal pattern has at depth, where it does not end yet.
func (c *compiler) octet(d *draft, depth int) byte { return c.source(d)[int(d.from)+depth] }

// deal sorts rules by the octet at depth. It returns which octets there are, and where the rules with each begin.
func (c *compiler) deal(rules []draft, depth int) (octets octetSet, starts [129]uint16) {
	for i := range rules {
		rules[i].next = c.octet(&rules[i], depth)
		starts[rules[i].next+1]++
	}
	for i := range 128 {
		if starts[i+1] > 0 {
			octets = octets.with(byte(i))
		}
		starts[i+1] += starts[i]
	}
	next := starts
	c.scratch = append(c.scratch[:0], rules...)
	for i := range c.scratch {
		place := &next[c.scratch[i].next]
		rules[*place] = c.scratch[i]
		*place++
	}
	return octets, starts
}

// sharedLength returns how many octets patterns share, after their first depth ones and before a "$".
func (c *compiler) sharedLength(rules []draft, depth int) int {
	if len(rules) == 0 {
		return 0
	}
	shared := c.literal(&rules[0])[depth:]
	for i := range rules[1:] {
		shared = shared[:commonPrefix(shared, c.literal(&rules[1+i])[depth:])]
	}
	return len(strings.TrimSuffix(shared, "$"))
}

// endingFirst puts the rules first whose patterns end at depth, and returns how many they are.
func endingFirst(rules []draft, depth int) (n int) {
	for i := range rules {
		if int(rules[i].prefix) == depth {
			rules[i], rules[n] = rules[n], rules[i]
			n++
		}
	}
	return n
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

// An octetSet is a set of ASCII octets, a bit for each.
type octetSet [2]uint64

func (s octetSet) with(c byte) octetSet {
	s[c>>6&1] |= 1 << (c & 63)
	return s
}

func (s *octetSet) has(c byte) bool { return s[c>>6&1]>>(c&63)&1 != 0 }

func (s octetSet) len() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

// all yields the octets of the set in ascending order.
func (s octetSet) all() iter.Seq[byte] {
	return func(yield func(byte) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(byte(64*i + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// index returns how many octets of the set come before c, and whether c is one of them.
func (s *octetSet) index(c byte) (i int, ok bool) {
	word, bit := s[c>>6&1], uint64(1)<<(c&63)
	i = bits.OnesCount64(word & (bit - 1))
	if c>>6&1 == 1 {
		i += bits.OnesCount64(s[0])
	}
	return i, word&bit != 0
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
	shared := depth
	if depth > 1 { // targets and patterns begin with "/"
		shared = min(depth, commonPrefix(r.text[r.rules[node.first].start:], target))
	}
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
