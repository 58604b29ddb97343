// Package match finds the rule of a group that decides about a target: the most
// specific that matches. It tries one rule after the other until it pays to
// compile them; from then on the time hardly depends on how many there are. It
// allocates no memory but for compiling, and takes a bounded number of steps.
// What a rule matches, and what a target is, package robotstxt says.
//
// # What questions cost
//
// This is what some questions about one file cost together, in steps of about a
// nanosecond: the mean of the 2,061 large groups in a corpus of 3,491 real files
// (TestSharedCorpusQuestions of package robotstxt). "s" is for scanning alone,
// "c" for compiling at once, and "*" for what Set does; where two meet, one is
// shown. At worst, on any of these files and for any number of questions up to
// 10,000, it is 2.02 times the better of the two.
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
// Its files use each other in one direction. From the ground up:
//
//	bytes        bytes eight at a time, buffers
//	escape       the one form in which bytes are compared
//	hash         hashes of parts of patterns and targets
//	target       targets in that form
//	pattern      patterns in that form
//	google       both as Google's parser compares them
//	literal      whether a pattern without wildcards matches
//	wild         whether one with wildcards matches
//	occurrences  what a target has, and where
//	index        where to find the rules that a target may match
//	packed       all rules in one string
//	koster       rules and targets as the draft of 1996 compares them
//	form         targets and patterns as each dialect compares them
//	few          a handful of rules without wildcards, tried one by one
//	search       rules tried one by one, and what that costs
//	scan         many rules tried one by one, before they have an index
//	prefix       rules without wildcards, by their beginnings
//	gram         rules with wildcards, by four bytes from within
//	filer        makes an index
//	set          the rules of a group, and the one that decides
//	compile      makes a Set
package match
