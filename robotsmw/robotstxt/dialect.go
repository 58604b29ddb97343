package robotstxt

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A Dialect determines how a robots.txt file is parsed and matched. Crawlers
// should use [RFC9309], as the function [Parse] does. The other dialects show
// what Googlebot may fetch, and how a file from the 1990s was meant.
type Dialect uint8

const (
	// RFC9309 is the standard. Where RFC 9309 leaves a choice, the
	// documentation of this package describes what was chosen.
	RFC9309 Dialect = Dialect(syntax.RFC9309)

	// Google returns the same results as Google's open-source parser, when
	// that parser is given the same URL. It reproduces the deviations of that
	// parser from RFC 9309:
	//
	//   - percent-encoded bytes are not decoded, but the hexadecimal digits in
	//     a pattern are changed to upper case: /%7Ejoe does not match /~joe,
	//     and %2A does not stand for a literal "*";
	//   - /robots.txt is not exempt from the rules;
	//   - a product token ends before the first digit or dot, so that no group
	//     can name MJ12bot;
	//   - a field that begins with "allow" is an Allow, and one that begins
	//     with "sitemap" or "site-map" is a Sitemap;
	//   - an Allow for /dir/index.html or /dir/index.htm also allows /dir/;
	//   - the rest of a line is ignored after a NUL, and after 16,663 bytes.
	Google Dialect = Dialect(syntax.Google)

	// Koster1996 is the Internet-Draft "A Method for Web Robots Control" of 15
	// November 1996, by Martijn Koster:
	//
	//   - records are separated by blank lines; a line with only a comment is
	//     not blank;
	//   - the first record that names the robot applies, or else the first
	//     record that names "*"; records are not combined;
	//   - the whole value of a user-agent line is a name;
	//   - the first matching rule of the record decides, even if a later one
	//     is longer;
	//   - "*" and "$" have no special meaning;
	//   - paths are compared without the query, and after decoding all
	//     percent-encoded bytes except "%2F";
	//   - a path that no rule matches is allowed, and so is /robots.txt.
	//
	// The dialect does not cover two rules of the draft about fetching: that
	// a file expires after seven days (24 hours in RFC 9309 §2.4), and that a
	// robot should regard the whole site as disallowed if the status of
	// robots.txt is 401 or 403 (see robotsmw.Options.DisallowForbidden).
	Koster1996 Dialect = Dialect(syntax.Koster1996)
)

// Parse is like the function [Parse], but uses the dialect d.
func (d Dialect) Parse(body []byte) *File {
	return &File{syntax.Parse(body, syntax.Dialect(d))}
}
