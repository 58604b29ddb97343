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
//	<meta name="noai">                                 also noimageai and noml
//	<meta name="tdm-reservation" content="1">          also tdm-policy: kept, for package preference
//
// Names compare whole and without regard to case. All elements of a page add
// up, also those after the head: browsers build a page with its metas wherever
// they stand, and a meta can only restrict. [Scanner.HeadOnly] is for sites
// where strangers write into the body.
//
// Comments, <script>, <style>, <title>, <textarea>, <xmp>, <iframe>,
// <plaintext> and <template> hold text, not elements. <noscript> holds
// elements, because a crawler runs no scripts. The first of two attributes of
// the same name counts. A tag that the end of the page cuts is no tag.
//
// # How it looks
//
// Most pages have no such element, so the bytes are searched first for a <meta
// whose name could matter; only a hit has the page tokenized, up to that
// element. No tree is built. Bytes above 0x7f are left alone, which is right
// for every coding that contains ASCII; UTF-16 is recognised (byte order mark,
// Charset, or a first "<") and decoded. Nothing is read beyond the first 256
// KiB, counted after decoding.
package htmlmeta

// Window is how much of a page is looked at, in bytes (of UTF-8, where the page
// is UTF-16).
const Window = 256 << 10
