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
// The chart shows the total cost of a number of questions to one group, in
// steps of about a nanosecond. A line stands for a number of questions, and a
// column for a cost. The cost is the mean of 2,061 groups of many rules: one
// from each file with such a group in a corpus of 3,491 real files
// (TestSharedCorpusQuestions of package robotstxt). "*" is the cost of a Set.
// "s" is the cost if the rules are always tried one by one. "c" is the cost if
// they are compiled before the first question. Where "*" and a letter would be
// in the same place, the chart shows only "*". For any of these groups and any
// number of questions up to 10,000, a Set costs at most 2.02 times the lower of
// "s" and "c".
//
//	             1,000       10,000      100,000     1,000,000
//	    1    *                 c
//	    2       *              c
//	    5           *s         c
//	   10                *     c
//	   20                   *s  c
//	   50                       c s*
//	  100                       c  * s
//	  200                        c  *    s
//	  500                          c *        s
//	 1000                            c*          s
//	 2000                              c*            s
//	 5000                                  c*             s
//	10000                                     c*             s
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
