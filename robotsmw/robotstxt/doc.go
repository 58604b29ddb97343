// Package robotstxt parses robots.txt files and reports which URLs a robot may
// fetch, and which line of the file decides.
//
//	file := robotstxt.Parse(body)
//	rules := file.Rules("ExampleBot")
//	if !rules.Allowed("/private/page.html?id=7") {
//		…
//	}
//
// The package implements RFC 9309. It sends no requests: package robotsmw
// fetches robots.txt files and chooses the file that applies to a URL. Package
// lint reports mistakes in a file.
//
// # The format
//
// The file /robots.txt of a site lists the paths that robots should not fetch:
//
//	User-agent: ExampleBot          # a group: the robots that it applies to
//	User-agent: OtherBot
//	Disallow: /private/             # the rules for these robots
//	Allow: /private/press/
//
//	User-agent: *                   # the group for all other robots
//	Disallow: /*.pdf$
//
//	Sitemap: https://example.com/sitemap.xml
//
// Parsing never fails, because lines that cannot be parsed are skipped. [Parse]
// describes the syntax of a line.
//
// # Groups
//
// A group begins with one or more user-agent lines. It extends to the next
// user-agent line that follows a rule. Blank lines and fields such as
// Crawl-delay or Sitemap do not end a group. For example, SlowBot may not fetch
// anything in
//
//	User-agent: SlowBot
//	Crawl-delay: 10
//
//	User-agent: BadBot
//	Disallow: /
//
// because there is no rule between the two user-agent lines.
//
// A robot is identified by its product token, such as "ExampleBot". A group
// applies to a robot if a user-agent line of the group contains the entire
// token, in any case. A group for "Example" or "ExampleBotImages" does not
// apply to ExampleBot, but one for "ExampleBot/1.0" does.
//
// A robot obeys all groups that name it, combined. If no group names the robot,
// it obeys all groups for "*", combined. If there is no group for "*" either,
// everything is allowed. The rules for "*" are never added to those of a group
// that names the robot. A group without rules allows everything.
//
// # Rules
//
// A rule matches a target, which is a path with its query, if the target begins
// with the pattern of the rule. In a pattern, "*" matches any sequence of
// bytes, and a final "$" matches the end of the target:
//
//	/fish       /fish, /fish.html, /fishing?for=salmon, but not /Fish or /catfish
//	/*.pdf$     /a/b.pdf, but not /a/b.pdf?page=1
//	*.gif$      the same as /*.gif$, because every target begins with "/"
//	fish        nothing: no target begins with "f"
//
// The matching rule with the longest pattern decides, wherever it is in the
// group. If an Allow and a Disallow are equally long, the Allow decides. A rule
// with an empty pattern is ignored. If no rule matches, the target is allowed.
// A space inside a pattern means %20. "/robots.txt" is always allowed.
//
// [Rules.Match] describes how percent-encoded bytes are compared,
// [Rules.MatchResolved] how paths with dot segments are handled, and [Rules]
// how long matching takes.
//
// # Other fields
//
// [Rules.CrawlDelay] returns the Crawl-delay for a robot, a field that is
// common but not standardized. [File.Sitemaps] returns the URLs of sitemaps,
// which apply to all robots. [File.Fields] yields all other lines of a file,
// and [File.GroupsFor] those that apply to one robot, for programs that support
// further fields.
//
// # Dialects
//
// The dialects [Google] and [Koster1996] parse and match a file as Googlebot
// does, and as the Internet-Draft of 1996 specified.
package robotstxt
