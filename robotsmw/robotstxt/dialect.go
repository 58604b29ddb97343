package robotstxt

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A Dialect is a way to read robots.txt files. [Parse] uses [RFC9309], as
// robots should. The other dialect shows what Googlebot will fetch.
type Dialect uint8

const (
	// RFC9309 is the standard. Where it leaves a choice, the docs say what
	// Parse does.
	RFC9309 Dialect = Dialect(syntax.RFC9309)

	// Google gives the answers that Google's open-source parser gives for a URL
	// as it is written. It has the bugs of that parser:
	//
	//   - escapes are not decoded, but in a pattern their hexadecimal digits
	//     become upper case: /%7Ejoe does not match /~joe, and %2A is no
	//     literal "*";
	//   - /robots.txt is not exempt;
	//   - a product token ends before the first digit or dot, so no group can
	//     name MJ12bot;
	//   - a field that begins with "allow" is an Allow, and one that begins
	//     with "sitemap" or "site-map" is a Sitemap;
	//   - an Allow for /dir/index.html or /dir/index.htm also allows /dir/;
	//   - the part of a line after a NUL, or after its first 16,663 bytes, is
	//     ignored.
	Google Dialect = Dialect(syntax.Google)
)

// Parse parses a robots.txt file as the function [Parse] does, but in the
// dialect d.
func (d Dialect) Parse(body []byte) *File { return &File{syntax.Parse(body, syntax.Dialect(d))} }
