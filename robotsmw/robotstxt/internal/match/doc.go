// Package match finds the rule of a group that decides about a target. By RFC
// 9309, this is the most specific rule that matches. A group is its rules, in
// the order of the file. They are tried one by one: for most rules, the first
// bytes of the target show that they do not match. Questions allocate no
// memory, apart from pooled buffers for long targets. The doc of package
// robotstxt says what a target is and what a rule matches.
//
// The files use each other in one direction only. Files that use no other file
// come first in this list:
//
//	bytes    buffers, and strings without copies
//	escape   the canonical form, in which bytes are compared
//	target   targets in canonical form
//	pattern  patterns in canonical form
//	google   targets and patterns as Google's parser compares them
//	koster   targets and patterns as the draft of 1996 compares them
//	form     targets and patterns as each dialect compares them
//	wild     whether a pattern matches
//	rule     a rule in 16 bytes: its rank, and what shows that it cannot match
//	set      the rules of a group, and the one that decides
//	builder  makes a Set
package match
