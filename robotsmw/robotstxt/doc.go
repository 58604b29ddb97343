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
// the files, and chooses the file that applies to a URL.
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
// # Lines
//
// A line is a field, a colon and a value. "#" begins a comment anywhere. White
// space around the line, the field and the value is ignored, and NUL there
// counts as white space. The case of a field is ignored, too. Lines end with
// LF, CR LF or CR. A byte order mark at the beginning of the file is skipped.
//
// Nothing in a file is an error: a line that cannot be parsed is skipped, and
// does not affect other lines. So [Parse] accepts any bytes, such as the HTML
// pages that many servers send. Parse reads two words without a colon between
// them as a field and a value. It also understands some frequent misspellings
// ("Dissallow", "Useragent"). The length of a line is not limited, but only the
// first [MaxSize] bytes of a file count. If a file is longer, lines that do not
// end within these bytes are ignored. Package lint says what is wrong with a
// file.
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
// # Escapes
//
// The same path can be written in many ways. So patterns and targets are
// compared in one form. In this form, a printable ASCII byte is written as
// itself, and any other byte as an escape: /%7Ejoe is /~joe, and /ツ is
// /%E3%83%84. "%2A" and "%24" in a pattern are a literal "*" and "$". Four
// escapes of printable bytes stay as they are, because the byte itself means
// something else: "%2F", "%3F", "%23" and "%25". For example, an escaped "/" is
// not a separator, so a rule for /a%2Fb does not match /a/b. In the query
// nothing is a separator. So in the query, "/" and "%2F" are the same, and "?"
// and "%3F" are the same. The longest pattern is the one that is longest in
// this form, in which an escape counts as three bytes.
//
// # Other names
//
// Some servers treat one path like another: they answer /x/%2e%2e/private/ and
// //private/ with the page of /private/. So a target has two other names. For
// the first name, the dot segments of its path are resolved (RFC 3986 §5.2.4),
// and then the empty segments are merged. For the second name, these two steps
// are in reverse order. [Rules.MatchResolved] also judges these names, and so
// does package robotsmw. [Rules.Match] and [Rules.Allowed] judge only the
// target that they are given.
//
// # Other fields
//
// [Rules.CrawlDelay] returns the Crawl-delay that many sites ask for, although
// no standard defines it. Each robot of a group may have its own delay. In
//
//	User-agent: SlowBot
//	Crawl-delay: 300
//	User-agent: *
//	Crawl-delay: 30
//	Disallow: /cart
//
// the rule is for all robots, but SlowBot waits for 300 seconds, and all others
// wait for 30. A Crawl-delay belongs to the user-agent lines since the previous
// Crawl-delay of its group. If there are no such lines, it belongs to the same
// user-agent lines as the previous Crawl-delay, and the larger value counts.
//
// [File.Sitemaps] returns the sitemaps, which belong to no group. [File.Fields]
// yields all lines that are neither user-agent lines nor rules, as written.
// [File.GroupsFor] yields a robot's groups, and each group has its own lines of
// this kind. A program that knows the meaning of such a line can act on it.
//
// # Other readings
//
// Not every robot reads files like this. The dialect [Google] shows how
// Googlebot reads a file.
//
// # Cost
//
// [Parse] goes through the file once, and [File.Rules] collects the rules of a
// robot. [Rules.Allowed] and [Rules.Match] try these rules one by one, in about
// a nanosecond for each rule. For most rules, the first bytes show that they do
// not match, or the target lacks a byte that the rule needs. Questions about
// long targets use buffers from a pool, and other memory is not allocated.
//
// Rules do not keep the file. They keep at most 200 bytes, and for each rule
// its pattern and 16 bytes more. [Rules.Match] returns user-agent lines and
// patterns as written. So two things can add to these bytes: the robot's
// user-agent lines after the first one, and the stored form of patterns that
// are stored in another form than the written one.
//
// The author of a file may try to make it expensive. A try of a rule with "*"
// takes time in proportion to the lengths of the target and the pattern. It is
// counted as the length of the pattern and half that of the target, in steps of
// about a nanosecond. For one target, all rules may cost 16,777,216 steps, and
// 32 more for each byte of the target. Beyond this limit the target is
// disallowed, with the reason [TooMuchWork]. Only a file that is made for this
// purpose reaches the limit. A group of 10,000 rules costs about two thirds of
// it, if the target has 2,000 bytes and all bytes that the rules need.
package robotstxt
