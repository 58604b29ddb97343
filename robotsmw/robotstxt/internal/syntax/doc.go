// Package syntax splits a robots.txt file into lines, fields with values, and
// groups, as each dialect defines them. It stores these as positions in the
// text. It does not match rules and does not report problems.
//
// Package robotstxt and its linter both use it. The doc of package robotstxt
// describes the grammar of a file for users.
package syntax
