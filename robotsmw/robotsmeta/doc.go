// Package robotsmeta reads what a page tells robots about itself: the
// directives of X-Robots-Tag header lines and of the content of <meta
// name="robots"> elements.
//
//	d := robotsmeta.ParseHeader(resp.Header, "ExampleBot")
//	if d.NoIndex() { … }   // do not keep the page
//	if d.NoFollow() { … }  // do not follow its links
//
// The metas of an HTML page are found by package
// [github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta], and
// [Directives.Union] adds them to the header's.
//
// # What the directives mean
//
//	noindex             do not keep the page, do not show it
//	nofollow            do not follow the page's links
//	none                noindex and nofollow, nothing more
//	unavailable_after   a date; from then on, noindex
//	noarchive, nocache  do not keep a copy
//	nosnippet           show no excerpt; max-snippet:0 says the same
//	max-snippet         a number of characters, -1 for no limit
//	max-video-preview   a number of seconds, -1 for no limit
//	max-image-preview   none, standard or large
//	noimageindex        do not keep the page's images
//	notranslate         do not offer a translation
//	indexifembedded     only beside noindex: the page may be kept as a part of others
//	noai, noimageai     not for machine learning; noimageai: not its images
//	noml                the same, by noml.info
//
// No standard defines them. This reading is Google's where Google documents
// one, and the more restrictive one where two are possible. The permissive
// words (all, index, follow, archive) and the forgotten ones (noodp, noydir,
// noyaca, nositelinkssearchbox) are known and do nothing. Every other word is
// kept as an unknown [Rule]: nofllow is not taken for nofollow.
//
// # How they combine
//
// Restrictions add up: of several lines, of several metas, of generic and of
// named ones, of the header and of the page. index never lifts a noindex,
// whoever it is addressed to; of two limits the smaller counts, of two dates
// the earlier. (Yandex alone documents the opposite, that permission wins. It
// is not followed.)
//
// # Who is meant
//
// An X-Robots-Tag line may name robots, and a name then holds until the next
// name or the line's end:
//
//	X-Robots-Tag: noindex, googlebot: nofollow, noarchive, otherbot: none
//
// Here everybody is told noindex, googlebot also nofollow and noarchive,
// otherbot also none. Lines are never joined, because each begins by speaking
// to everybody. A name is told from a directive by knowing the directives, not
// by counting colons: max-snippet: 20 addresses no robot called max-snippet. A
// name compares with the caller's product tokens without regard to case, whole,
// and without a version (ExampleBot/2.1 is ExampleBot); googlebot is not
// googlebot-news. The names *, all and robots mean everybody.
//
// The text of a meta's content has no such names.
//
// A date may hold commas and a zone (PST is UTC-8), so where directives follow
// it, the longest text that is a date counts.
//
// # Robots-Tag
//
// Robots-Tag is the same idea as a Structured Field (RFC 9651), from an
// Internet-Draft (draft-illyes-repext): a list of product tokens whose
// parameters are the directives, as in
//
//	Robots-Tag: *;nosnippet, ExampleBot;noindex
//
// It is read beside X-Robots-Tag and adds up with it. A directive in place of
// the robot's name speaks to everybody.
package robotsmeta
