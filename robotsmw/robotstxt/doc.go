// Package robotstxt parses robots.txt files and says what a robot may fetch,
// and why.
//
//	file := robotstxt.Parse(body)
//	rules := file.Rules("ExampleBot")
//	if !rules.Allowed("/private/page.html?id=7") {
//		…
//	}
//
// This package follows RFC 9309 and fetches nothing. Package robotsmw fetches
// the files, and chooses the file that applies to a URL. Package lint says what
// is wrong with a file.
//
// # What a robots.txt file is
//
// A site says in /robots.txt which of its paths robots should leave alone:
//
//	User-agent: ExampleBot          # a group: the robots that it is for
//	User-agent: OtherBot
//	Disallow: /private/             # the rules for these robots
//	Allow: /private/press/
//
//	User-agent: *                   # the group of all other robots
//	Disallow: /*.pdf$
//
//	Sitemap: https://example.com/sitemap.xml
//
// Nothing in a file is an error: a line that cannot be parsed is skipped.
// [Parse] says what a line is.
//
// # Groups
//
// A group begins with one or more user-agent lines. It ends before the next
// user-agent line that comes after a rule. Blank lines do not end a group, and
// neither do fields such as Crawl-delay or Sitemap. So in
//
//	User-agent: SlowBot
//	Crawl-delay: 10
//
//	User-agent: BadBot
//	Disallow: /
//
// SlowBot may fetch nothing either, because nothing but a rule ends a group.
//
// A robot is named by its product token, "ExampleBot". Whole tokens are
// compared, and case is ignored: a group for "Example" or for
// "ExampleBotImages" is not for this robot, but one for "ExampleBot/1.0" is. A
// robot obeys all groups that name it, taken together. If there are none, it
// obeys all groups for "*", taken together. If there are no such groups either,
// everything is allowed. The group for "*" is never added to a robot's own. A
// group without rules allows everything.
//
// # Rules
//
// A target is a path with its query. A rule matches a target that begins with
// the rule's pattern. In a pattern "*" stands for any bytes or none, and "$" at
// the end stands for the end of the target:
//
//	/fish       /fish, /fish.html, /fishing?for=salmon, but not /Fish or /catfish
//	/*.pdf$     /a/b.pdf, but not /a/b.pdf?page=1
//	*.gif$      the same as /*.gif$, because every target begins with "/"
//	fish        nothing: no target begins with "f"
//
// Of the rules that match, the one with the longest pattern decides. Its place
// in the group does not matter. If an Allow and a Disallow are equally long,
// the Allow decides. A rule with an empty pattern is ignored. If no rule
// matches, the target is allowed. A space inside a pattern is %20.
// "/robots.txt" is always allowed.
//
// [Rules.Match] says how escapes are compared, [Rules.MatchResolved] which
// other names a path has, and [Rules] what matching costs.
//
// # Other fields
//
// [Rules.CrawlDelay] returns the Crawl-delay that many sites ask for, although
// no standard defines it. [File.Sitemaps] returns the sitemaps, which belong to
// no group. [File.Fields] yields all lines that are neither user-agent lines
// nor rules, as written. [File.GroupsFor] yields a robot's groups, and each
// group has its own lines of this kind. A program that knows the meaning of
// such a line can act on it.
//
// The dialects [Google] and [Koster1996] show how other robots read a file.
package robotstxt
