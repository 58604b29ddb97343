// Package syntax parses robots.txt files: it splits them into lines, fields and
// groups, in each dialect. The results are positions in the text.
//
// The package is shared by package robotstxt, whose documentation describes the
// syntax, and by its linter.
package syntax
