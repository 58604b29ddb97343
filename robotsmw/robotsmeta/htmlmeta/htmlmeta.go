// Package htmlmeta finds what an HTML page says to robots in its <meta>
// elements.
//
//	d := htmlmeta.Scan(page, "ExampleBot")
//	if d.NoFollow() { … }
//
// [Scan] takes a whole page, or its beginning. A [Scanner] takes it piece by
// piece.
//
// # Which elements speak
//
//	<meta name="robots" content="noindex, nofollow">   to everybody
//	<meta name="ExampleBot" content="noindex">         to the robot with that product token
//	<meta name="noai">                                 to everybody
//	<meta name="noimageai">                            to everybody
//	<meta name="noml">                                 to everybody
//	<meta name="tdm-reservation" content="1">          for package preference
//	<meta name="tdm-policy" content="…">               for package preference
//
// A name is compared as a whole, without regard to case. All elements of a page
// add up, including those after the head: browsers accept a meta wherever it
// stands, and a meta can only restrict. [Scanner.HeadOnly] is for sites on
// which strangers can write into the body.
//
// Comments, <script>, <style>, <title>, <textarea>, <xmp>, <iframe>,
// <noframes>, <noembed> and <plaintext> contain text, not elements. Elements in
// a <template> do not count. Those in <noscript> count, because a crawler runs
// no scripts. If an attribute is given twice, the first counts. A tag that is
// cut off by the end of the page does not count.
//
// # How a page is searched
//
// Most pages have no element that speaks to robots. So the bytes are first
// searched for a <meta whose name could matter. If there is one, the page is
// tokenized up to the last such <meta. No tree is built. A page in UTF-16 is
// decoded before it is searched. UTF-16 is recognised by its byte order mark,
// by [Scanner.Charset], or by a "<" or white space at the beginning. A page in
// any other encoding is searched as it is, and its bytes above 0x7f are not
// changed. That is right for every encoding that contains ASCII. Only the first
// 256 KiB are read, counted after decoding. If the head does not end within
// them, more directives may follow, and [robotsmeta.Directives.Truncated]
// reports true.
package htmlmeta

// Window is how many bytes of a page are examined. For a page in UTF-16, it
// counts the bytes after decoding to UTF-8.
const Window = 256 << 10
