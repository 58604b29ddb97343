package robotstxt

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A Dialect is a way to read robots.txt files. [Parse] uses [RFC9309], as
// robots should. The other dialects show what Googlebot will fetch, and what a
// file from the nineties meant.
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

	// Koster1996 is the Internet-Draft of 15 November 1996, "A Method for Web
	// Robots Control":
	//
	//   - records are separated by blank lines; a line with a comment is not
	//     blank;
	//   - the first record that names the robot counts; if there is none, the
	//     first record that names "*" counts; records are not merged;
	//   - a name is the whole value of a user-agent line;
	//   - the first matching rule of the record decides, not the longest;
	//   - "*" and "$" are bytes like any others;
	//   - the path is compared without its query and with its escapes decoded,
	//     except that "%2F" is not "/";
	//   - a path that no rule matches is allowed, and so is /robots.txt.
	//
	// A robot that obeys the draft uses a file for seven days, unless the
	// response says when it expires; RFC 9309 §2.4 has 24 hours. The draft
	// advises to fetch nothing from a site that answers 401 or 403 to
	// robots.txt: this is robotsmw.Options.DisallowForbidden. Neither is part
	// of the dialect, which only reads the file.
	Koster1996 Dialect = Dialect(syntax.Koster1996)
)

// Parse parses a robots.txt file as the function [Parse] does, but in the
// dialect d.
func (d Dialect) Parse(body []byte) *File { return &File{syntax.Parse(body, syntax.Dialect(d))} }
