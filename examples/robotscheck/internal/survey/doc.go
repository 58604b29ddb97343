// Package survey implements robotscheck survey.
//
// Survey reads all files of a directory and its subdirectories, of a tar
// archive (.tar, .tar.gz or .tgz), of a WARC file (.warc, .warc.gz or
// .warc.zst) or a WACZ (.wacz), or of a list, which contains one path per line
// ("-": standard input). It counts how many files have which features, how
// large they are, which problems lint finds, and which robots they name.
//
//	robotscheck survey -match 'robots/*.txt' corpus.tar.gz
//	robotscheck survey CC-MAIN-20261120100000-00000.warc.gz
//
// From a WARC file, survey reads the responses for /robots.txt, such as those
// in Common Crawl's robotstxt subset. If the argument is a WARC file, -match
// applies to their hosts.
//
// Survey reads at most 16 MiB of each file, and counts at most 1,000 problems
// and 1,000 robots of it. If all files together name more than 400,000 robots,
// or robots with very long names, further ones are not counted. A file shuts a
// robot out if its rules for the robot disallow "/", by RFC 9309. The result
// also has these counts for Google's parser and for the draft of 1996.
//
// Exit status: 0 all files were read, 2 some could not be read, and the result
// is about the others. If none of the first ten files of a list can be read, it
// is probably not a list, and there is no result.
//
// With -json, one object:
//
//	files, bytes
//	without       for WARC files, the responses without a file, by the class
//	              of their status: {"4xx": 12}
//	have          [{"what", "files"}]: features of files for which lint has no
//	              code
//	rules         [{"what", "rules", "files"}]: features of the rules'
//	              patterns
//	sizes         [{"what", "median", "p90", "p99", "max"}]: bytes, lines,
//	              groups, rules, rules of the largest group
//	worst         number of files by the severity of their worst problem:
//	              "error", "warning", "info", or "none"
//	problems      [{"code", "severity", "files", "times"}]
//	robots        [{"name", "files", "shut_out", "dialects"}], the names in
//	              lower case; dialects has the number of files that shut the
//	              robot out by "google" and "koster1996"
package survey
