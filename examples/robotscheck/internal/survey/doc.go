// Package survey implements robotscheck survey.
//
// Survey reads all files of a directory and of those below it, of a tar archive
// (.tar, .tar.gz or .tgz), of a WARC file (.warc, .warc.gz or .warc.zst) or a
// WACZ (.wacz), or of a list, which has the path of one file a line ("-":
// standard input). It counts how many files have which features, how large they
// are, which problems lint finds, and which robots they name.
//
//	robotscheck survey -match 'robots/*.txt' corpus.tar.gz
//	robotscheck survey CC-MAIN-20261120100000-00000.warc.gz
//
// From a WARC file, survey reads the answers for /robots.txt, such as those in
// Common Crawl's robotstxt subset. If the argument is a WARC file, -match is
// for their hosts.
//
// Of each file the first 16 MiB are read. At most 1,000 problems and 1,000
// robots of a file are counted. If all files together name more than 400,000
// robots, or robots with very long names, further ones are not counted. A file
// shuts a robot out if its rules for the
// robot disallow "/": by RFC 9309, and beside it as Google's parser and the
// draft of 1996 read the file.
//
// Exit status: 0 all files were read, 2 not all: the result is of those that
// were. If none of the first ten files of a list can be read, it is probably no
// list, and there is no result.
//
// With -json, one object:
//
//	files, bytes
//	without       for WARC files, the answers that are not files, by their
//	              class: {"4xx": 12}
//	have          [{"what", "files"}]: features of files for which lint has no
//	              code
//	rules         [{"what", "rules", "files"}]: features of the rules'
//	              patterns
//	sizes         [{"what", "median", "p90", "p99", "max"}]: bytes, lines,
//	              groups, rules, rules of the largest group
//	worst         in how many files the worst problem is an "error", "warning"
//	              or "info", or there is "none"
//	problems      [{"code", "severity", "files", "times"}]
//	robots        [{"name", "files", "shut_out", "dialects"}], the names in
//	              lower case; dialects has in how many files the robot is shut
//	              out as "google" and "koster1996" read them
package survey
