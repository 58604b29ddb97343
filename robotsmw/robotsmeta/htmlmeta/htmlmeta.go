// Package htmlmeta finds the directives for robots in the <meta> elements of an
// HTML page.
//
//	d := htmlmeta.Scan(page, "ExampleBot")
//	if d.NoFollow() { … }
//
// [Scan] scans a page in memory, and a [Scanner] one that arrives in pieces.
//
// # Elements
//
//	<meta name="robots" content="noindex, nofollow">   for all robots
//	<meta name="ExampleBot" content="noindex">         for the robot with that product token
//	<meta name="noai">                                 for all robots
//	<meta name="noimageai">                            for all robots
//	<meta name="noml">                                 for all robots
//	<meta name="tdm-reservation" content="1">          for package preference
//	<meta name="tdm-policy" content="…">               for package preference
//
// Names are case-insensitive. The directives of all elements are combined, even
// if the elements are in the body, because browsers accept them there and they
// can only add restrictions. For sites on which strangers can write into the
// body, see [Scanner.HeadOnly].
//
// As in a browser, there are no elements in comments, in <script>, <style>,
// <title>, <textarea>, <xmp>, <iframe>, <noframes>, <noembed> and <plaintext>,
// or in a tag that is incomplete at the end of the page. Elements in <template>
// are ignored. Elements in <noscript> apply, because a crawler does not run
// scripts. If an attribute is repeated, the first one applies.
//
// # Limits and encodings
//
// Only the first 256 KiB of a page are scanned. If its head does not end within
// them, there may be further directives, and [robotsmeta.Directives.Truncated]
// reports true.
//
// A page in UTF-16 is detected by its byte order mark, by [Scanner.Charset], or
// by "<" or white space at the beginning, and converted to UTF-8. All other
// encodings are assumed to be extensions of ASCII.
//
// Scanning is fast because most pages are only searched for <meta tags. A page
// is tokenized only up to the last meta element that has one of the names
// above.
package htmlmeta

// Window is the maximum number of bytes of a page that are scanned, after
// conversion from UTF-16 to UTF-8.
const Window = 256 << 10
