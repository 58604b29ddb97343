// Package robotsmeta parses page directives for robots, such as "noindex", from
// X-Robots-Tag headers and <meta name="robots"> elements.
//
//	d := robotsmeta.ParseHeader(resp.Header, "ExampleBot")
//	if d.NoIndex() { … }   // do not store the page
//	if d.NoFollow() { … }  // do not follow its links
//
// Package [github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta] finds the
// meta elements of an HTML page. [Directives.Union] combines their directives
// with those of the header.
//
// # Directives
//
//	noindex             do not store or show the page
//	nofollow            do not follow the links of the page
//	none                the same as noindex and nofollow
//	unavailable_after   a date; from then on, the same as noindex
//	noarchive, nocache  do not show a copy of the page
//	nosnippet           do not show an excerpt; the same as max-snippet:0
//	max-snippet         maximum length of excerpts in characters; -1 for no limit
//	max-video-preview   maximum length of video previews in seconds; -1 for no limit
//	max-image-preview   maximum size of image previews: "none", "standard" or "large"
//	noimageindex        do not store the images of the page
//	notranslate         do not offer a translation
//	indexifembedded     with noindex: the page may be stored as a part of other pages
//	noai                do not use the page and its images for machine learning
//	noimageai           do not use the images of the page for machine learning
//	noml                do not use the page for machine learning (noml.info)
//
// The directives are not standardized. They are interpreted as Google documents
// them, and in the more restrictive way if they are ambiguous. Permissive
// directives (all, index, follow, archive, imageindex) and obsolete ones
// (noodp, noydir, noyaca, nositelinkssearchbox) are recognized but have no
// effect. Any other word, including a misspelled directive, has no effect
// either, and is returned as a [Rule] that is not Known.
//
// # Combining directives
//
// All directives that apply to a robot are combined, whether they are in the
// header or in the page, and whether they are for all robots or for the robot
// by name. The most restrictive directive applies: "index" does not cancel
// "noindex", and the smaller of two limits and the earlier of two dates apply.
// Yandex, in contrast, applies the permissive directive.
//
// # X-Robots-Tag
//
// An X-Robots-Tag line may contain names of robots. The directives after a name
// are for that robot, up to the next name or the end of the line. For example,
// in
//
//	X-Robots-Tag: noindex, googlebot: nofollow, noarchive, otherbot: none
//
// "noindex" is for all robots, "nofollow" and "noarchive" are for googlebot,
// and "none" is for otherbot. The directives at the beginning of the next line
// are for all robots again.
//
// A name is any word before a colon that is not a directive. It is compared
// with the product tokens of the caller, ignoring case and version:
// ExampleBot/2.1 is the same as ExampleBot, but googlebot-news is not the same
// as googlebot. The names "*", "all" and "robots" stand for all robots.
//
// Dates may have any common format, with commas, time zone abbreviations (PST
// is UTC-8) and offsets.
//
// # Robots-Tag
//
// The header Robots-Tag of draft-illyes-repext is an alternative to
// X-Robots-Tag in the syntax of Structured Fields (RFC 9651). It is a list of
// product tokens whose parameters are directives:
//
//	Robots-Tag: *;nosnippet, ExampleBot;noindex
//
// A directive without a product token is for all robots. If a response has both
// headers, their directives are combined.
package robotsmeta
