// Package syntax takes a robots.txt file apart: into lines, fields and their
// values, and groups, as each dialect has them. It keeps all of that by place
// in the text, and knows neither what a rule matches nor what a linter thinks
// of it.
//
// It is the part that package robotstxt and its linter share. What a user has
// to know of a file's grammar stands there.
package syntax
