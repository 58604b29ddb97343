// Package robotsmeta reads what a page tells robots about itself: the
// directives of X-Robots-Tag header lines and of the content of <meta
// name="robots"> elements.
//
//	d := robotsmeta.ParseHeader(resp.Header, "ExampleBot")
//	if d.NoIndex() { … }   // do not keep the page
//	if d.NoFollow() { … }  // do not follow its links
//
// Package [github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta] finds the
// metas of an HTML page. [Directives.Union] adds their directives to those of
// the header.
//
// # What the directives mean
//
//	noindex             do not keep the page, do not show it
//	nofollow            do not follow the page's links
//	none                noindex and nofollow, nothing more
//	unavailable_after   a date; from then on, noindex
//	noarchive, nocache  show no copy of the page
//	nosnippet           show no excerpt; max-snippet:0 says the same
//	max-snippet         a number of characters, -1 for no limit
//	max-video-preview   a number of seconds, -1 for no limit
//	max-image-preview   "none", "standard" or "large"
//	noimageindex        do not keep the page's images
//	notranslate         do not offer a translation
//	indexifembedded     with noindex: the page may be kept as a part of other pages
//	noai                neither the page nor its images are for machine learning
//	noimageai           the page's images are not for machine learning
//	noml                not for machine learning (noml.info)
//
// No standard defines them. They are read as Google documents them. If a
// directive can be read in two ways, the more restrictive way counts. The
// permissive words (all, index, follow, archive, imageindex) and the obsolete
// ones (noodp, noydir, noyaca, nositelinkssearchbox) are known and have no
// effect. Every other word is kept as an unknown [Rule]: nofllow is not taken
// for nofollow.
//
// # How they combine
//
// All restrictions add up: those of several lines or metas, those for everybody
// and those for a named robot, and those of the header and the page. An "index"
// never lifts a "noindex", whether the "index" is for everybody or for a named
// robot. Of two limits the smaller counts, and of two dates the earlier. (Only
// Yandex documents the opposite, that permission wins. This package does not
// follow Yandex.)
//
// # Who is addressed
//
// An X-Robots-Tag line may name robots. A name applies to all directives up to
// the next name or the end of the line:
//
//	X-Robots-Tag: noindex, googlebot: nofollow, noarchive, otherbot: none
//
// In this line, "noindex" is for everybody. In addition, "nofollow" and
// "noarchive" are for googlebot, and "none" is for otherbot. Each line is read
// by itself, so the directives at its beginning are for everybody, whatever the
// line before it says. Names and directives are told apart by a list of the
// directives, not by the number of colons: "max-snippet: 20" does not address a
// robot called max-snippet. A name is compared as a whole with the caller's
// product tokens, without regard to case or to a version: ExampleBot/2.1 is
// ExampleBot, but googlebot is not googlebot-news. The names "*", "all" and
// "robots" mean everybody.
//
// The content of a meta contains no such names.
//
// A date may contain commas and a zone (PST is UTC-8). If other text follows a
// date, the longest text that is a date counts.
//
// # Robots-Tag
//
// Robots-Tag has the same purpose, but is a Structured Field (RFC 9651). An
// Internet-Draft (draft-illyes-repext) defines it as a list of product tokens
// whose parameters are the directives, as in
//
//	Robots-Tag: *;nosnippet, ExampleBot;noindex
//
// Robots-Tag is read in addition to X-Robots-Tag, and the two add up. If a
// directive stands in place of a robot's name, it is for everybody.
package robotsmeta
