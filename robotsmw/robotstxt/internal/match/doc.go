// Package match finds the rule of a group that decides about a target. By RFC
// 9309, this is the most specific rule that matches. At first, the package
// tries the rules one by one. It compiles them when that saves time. After
// that, the time hardly depends on the number of rules. Apart from pooled
// buffers, the package allocates memory only to compile. It takes a bounded
// number of steps for each target. The doc of package robotstxt says what a
// target is and what a rule matches.
//
// # What questions cost
//
// For any number of questions up to 10,000, a Set costs at most 2.02 times as
// much as the cheaper one of two simpler ways: to try the rules one by one for
// every question, or to compile them before the first. This was measured with a
// corpus of 3,491 real files. In 2,061 of them, some robot has a group of many
// rules, and the bound holds for the first such group of each file. The page
// integration_test/MEASURED.md has a chart of the costs.
//
// # Files
//
// The files use each other in one direction only. Files that use no other file
// come first in this list:
//
//	bytes        bytes, eight at a time; buffers
//	escape       the canonical form, in which bytes are compared
//	hash         hashes of parts of patterns and targets
//	target       targets in canonical form
//	pattern      patterns in canonical form
//	google       targets and patterns as Google's parser compares them
//	literal      whether a pattern without wildcards matches
//	wild         whether a pattern with wildcards matches
//	occurrences  which bytes and grams a target has, and where
//	index        where to find the rules that may match a target
//	packed       all rules in one string
//	koster       rules and targets as the draft of 1996 compares them
//	form         targets and patterns as each dialect compares them
//	few          a handful of rules without wildcards, tried one by one
//	search       rules tried one by one, and what that costs
//	scan         many rules tried one by one, before they have an index
//	prefix       rules without wildcards, by their beginnings
//	gram         rules with wildcards, by four bytes of their patterns
//	filer        makes an index
//	set          the rules of a group, and the one that decides
//	compile      makes a Set
package match
