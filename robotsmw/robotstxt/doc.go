// Package robotstxt reads robots.txt files and tells what a robot may fetch,
// and why.
//
//	file := robotstxt.Parse(body)
//	rules := file.Rules("ExampleBot")
//	if !rules.Allowed("/private/page.html?id=7") {
//		…
//	}
//
// It follows RFC 9309 and fetches nothing: package robotsmw does that, and
// knows which file governs which URL.
//
// # What a robots.txt file is
//
// A site says in /robots.txt which of its paths robots should leave alone:
//
//	User-agent: ExampleBot          # a group: who it is for
//	User-agent: OtherBot
//	Disallow: /private/             # its rules
//	Allow: /private/press/
//
//	User-agent: *                   # the group of everybody else
//	Disallow: /*.pdf$
//
//	Sitemap: https://example.com/sitemap.xml
//
// # Lines
//
// A line is a field, a colon and a value. "#" begins a comment anywhere. White
// space around the line, the field and the value does not count, nor does the
// case of a field. Lines end with LF, CR LF or CR. A byte order mark at the
// beginning is skipped, and NUL at the ends of a line is white space.
//
// Nothing in a file is an error: a line that is no field is skipped, and one
// bad line costs no other. So [Parse] takes any bytes, among them the HTML
// pages that many servers send. Two words without a colon, and some frequent
// misspellings ("Dissallow", "Useragent"), are read as they are meant. There is
// no limit for a line, and for a file [MaxSize] bytes: lines that do not end
// within them do not count. Package lint tells what is wrong with a file.
//
// # Groups
//
// User-agent lines that follow each other begin a group, and it goes on to the
// next user-agent line after a rule. Blank lines do not part groups, and
// neither do fields such as Crawl-delay or Sitemap, wherever they stand: in
//
//	User-agent: SlowBot
//	Crawl-delay: 10
//
//	User-agent: BadBot
//	Disallow: /
//
// SlowBot is shut out, since nothing but a rule ends a group.
//
// A robot goes by its product token, "ExampleBot", which is compared without
// regard to case and as a whole: a group for "Example" or for
// "ExampleBotImages" is not for it, and one for "ExampleBot/1.0" is. It obeys
// all groups that name it, taken together; if there is none, all groups for
// "*", taken together; if there is none, there are no rules. The group for "*"
// is never added to a robot's own. A group without rules allows everything.
//
// # Rules
//
// A rule matches a target, that is a path with its query, if the target begins
// with the rule's pattern. In a pattern "*" stands for any bytes and "$", at
// the end, for the end of the target:
//
//	/fish       /fish, /fish.html, /fishing?for=salmon, but not /Fish or /catfish
//	/*.pdf$     /a/b.pdf, but not /a/b.pdf?page=1
//	*.gif$      what /*.gif$ matches: every target begins with "/"
//	fish        nothing: no target begins with "f"
//
// Of the rules that match, the one with the longest pattern decides, wherever
// it stands; of two that are as long, Allow. If no rule matches, or only one
// with an empty pattern, the target is allowed. A space inside a pattern is
// %20. "/robots.txt" is always allowed.
//
// # Escapes
//
// The same path can be written in many ways. Patterns and targets are therefore
// compared in one form, in which a printable ASCII byte is never an escape and
// any other always is one: /%7Ejoe is /~joe, and /ツ is /%E3%83%84. So "%2A" and
// "%24" in a pattern are a literal "*" and "$". Only "%2F", "%3F", "%23" and
// "%25" stay as they are, for an escaped "/" is not a separator: a rule for
// /a%2Fb does not match /a/b. In the query they do not separate anything, and
// "/" and "%2F" are the same, as are "?" and "%3F". The length that decides is
// that of this form: an escape that remains one counts as three bytes.
//
// # Other fields
//
// [Rules.CrawlDelay] reads the Crawl-delay that many sites ask for, though no
// standard has it. Robots of one group may have a delay each: in
//
//	User-agent: SlowBot
//	Crawl-delay: 300
//	User-agent: *
//	Crawl-delay: 30
//	Disallow: /cart
//
// the rule is for all of them, but only SlowBot waits for 300 seconds. A
// Crawl-delay belongs to the user-agent lines since the previous one of its
// group; if there are none, to that one's, and the larger value counts. That is
// so in each dialect.
//
// [File.Sitemaps] returns the sitemaps, which belong to no group. What else
// stands in a file is there for those who know what to do with it, in
// [File.GroupsFor] and [File.Fields], as written.
//
// # Other readings
//
// Not everybody reads files like this. [Google] and [Koster1996] are other
// dialects, to find out what somebody else's robot makes of a file.
//
// # Cost
//
// [Parse] goes through the file once, and [File.Rules] selects a group. Most
// robots ask a site a handful of questions, and those are answered by trying
// the rules one by one. A large group is compiled when the questions by then
// have cost as much as that: from then on the time of [Rules.Allowed] and
// [Rules.Match] depends on the target and hardly on the number of rules. So
// some questions together never cost more than twice what they would have cost
// the better way, and what one of them costs. They allocate nothing, but for
// the one that compiles. Rules keep at most twice the bytes of their patterns,
// and 200 more, and not the file. Only what [Match] gives back as written can
// add to that: each user-agent line of the robot beyond the first, and each
// pattern that has another form in memory.
//
// Whoever owns a file may try to make it expensive. Rules without "*" cost no
// more than a small multiple of the target's length, however many there are.
// The others are tried at most once for each place at which the target has
// something in common with them, in time in proportion to the target's length,
// and there is an end to what all of them together may cost for one target:
// 786,432 steps, and 16 for each byte of the target, of about a nanosecond
// each. Beyond it the answer is no, for [TooMuchWork]. It takes a file made for
// that: a group of 10,000 rules that ask for what the target has not, or has in
// another order, costs a tenth.
package robotstxt
