package robotstxt

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A Dialect is a way to read robots.txt files. [Parse] reads them by [RFC9309],
// which is what a robot should do. The others are for people who have to know
// how somebody else reads a file: what Googlebot will fetch, or what a file
// from the nineties meant.
type Dialect uint8

const (
	// RFC9309 is the standard, with the decisions that package doc lists where
	// the standard leaves some.
	RFC9309 Dialect = Dialect(syntax.RFC9309)

	// Google is how Google's open-source parser answers when it is given a URL
	// as it stands, bug for bug:
	//
	//   - escapes in the URL are not looked into, and in a pattern only their
	//     digits become upper-case: /%7Ejoe does not match /~joe, and %2A is no
	//     literal "*";
	//   - /robots.txt is not exempt;
	//   - a token ends before the first digit or dot, so that MJ12bot is never
	//     named;
	//   - a field that begins with "allow" is an Allow;
	//   - an Allow for /dir/index.html, or index.htm, also allows /dir/;
	//   - what stands behind NUL, or behind the first 16,663 bytes of a line,
	//     does not count.
	Google Dialect = Dialect(syntax.Google)

	// Koster1996 is the Internet-Draft of 15 November 1996, "A Method for Web
	// Robots Control":
	//
	//   - records are separated by blank lines, which lines with a comment are
	//     not;
	//   - the first record that names the robot counts, else the first that
	//     names "*"; nothing is merged;
	//   - the first rule of the record that matches decides, not the most
	//     specific;
	//   - "*" and "$" are bytes like any others;
	//   - the path is compared, without the query, and without escapes, except
	//     that "%2F" is not "/".
	Koster1996 Dialect = Dialect(syntax.Koster1996)
)

// String returns the dialect's name.
func (d Dialect) String() string {
	switch d {
	case RFC9309:
		return "RFC 9309"
	case Google:
		return "Google"
	case Koster1996:
		return "Koster 1996"
	}
	return "unknown dialect"
}

// Parse reads a robots.txt file as the dialect has it. See the function
// [Parse].
func (d Dialect) Parse(body []byte) *File { return &File{syntax.Parse(body, syntax.Dialect(d))} }
