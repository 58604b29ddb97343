// Package lint implements robotscheck lint.
//
// Lint lists the problems in each file, one per line: errors, warnings, and
// information:
//
//	FILE:LINE:COLUMN: CODE: MESSAGE [SEVERITY]
//
// For example:
//
//	robotscheck lint robots.txt
//	robotscheck lint -severity warning https://example.com/
//
// If lint knows the correct line, it prints that below. A problem of the whole
// file is at 1:1. An error is a line that has no effect, or an effect that is
// certainly unintended. A warning is a line that robots interpret differently
// than its author seems to expect, or differently from each other. Info may be
// correct. Package robotstxt/lint explains the codes, which do not change.
//
// If more than three problems of a file have the same message, or are info with
// the same code, only the first is shown, and then the lines of the others:
//
//	robots.txt:3:1: unknown-field: no known robot reads a field "Foo" [warning]
//	  and 3 more in lines 4, 9, 10 (-all shows each)
//
// Exit status: 0 there is at most info, 1 there is a warning or an error, 2 a
// file could not be read or does not exist.
//
// With -json, one object for each problem:
//
//	file      the file, or the URL of the robots.txt
//	line      counted from 1; 0 for the file as a whole
//	column    in bytes, counted from 1; 0 for the line as a whole
//	code      such as "no-leading-slash"
//	severity  "info", "warning" or "error"
//	message   a sentence
//	fix       the correct line, or lines with "\n" between them; absent if
//	          only the author knows it
package lint
