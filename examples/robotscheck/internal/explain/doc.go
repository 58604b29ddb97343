// Package explain implements robotscheck explain.
//
// Explain reports whether a robot may fetch each PATH, which rule of the
// robots.txt decides, and what would decide without that rule (the runner-up).
// It also lists the lines with preferences for the use of PATH for search and
// AI. If Google's parser or the draft of 1996 would decide otherwise, both
// verdicts follow. PATH is "/path?query" or a whole URL. If there is no PATH
// and the URL has a path, that URL is explained.
//
//	robotscheck explain -agent ExampleBot robots.txt /private/ /private/a.html
//	robotscheck explain -agent Googlebot https://example.com/private/
//
// With -urls, the lines of a file are further PATHs:
//
//	robotscheck explain -agent ExampleBot -urls urls.txt robots.txt
//
// Exit status: 0 all are allowed, 1 one is disallowed, 2 there is no answer, 3
// the answer is doubtful: the robots.txt is cut at 500 KiB, binary, or an HTML
// page.
//
// With -json, one object for each PATH and agent:
//
//	source     the file, or the URL of the robots.txt
//	agent      the robot's product token
//	url        the PATH
//	allowed    true or false
//	reason     "rule" (a rule decides), "no-match" (no rule of the group
//	           matches), "empty-group", "no-group" (none for this robot nor
//	           for "*"), "robots-txt" (/robots.txt is always allowed),
//	           "too-much-work" (rules made to be expensive: disallowed),
//	           "unavailable" (4xx: allowed), "unreachable" (5xx, network:
//	           disallowed)
//	rule       the rule that decides, as "Disallow: /a"
//	line       the number of its line
//	resolved   the other path that servers may take the URL for, if the rule
//	           disallows that: "/private/" for "/x/../private/"
//	group      the user-agent lines that select the group: [{"value", "line"}]
//	runner_up  what would decide without that rule: allowed, reason, rule,
//	           line
//	uses       the preferences for "search", "train-ai" and "ai-input":
//	           [{"use", "answer", "evidence"}], and "reuse", the strictest "use"
//	           of its Content-Signal; as robotscheck page prints them
//	dialects   the verdicts of "google" (its parser) and "koster1996" (the
//	           draft of 1996): allowed, reason, rule, line
//	doubt      why the answer is doubtful: the robots.txt is longer than the
//	           500 KiB that robots read, binary, in UTF-16, or an HTML
//	           page; absent if it is not doubtful
//	fetched    for a URL, how its robots.txt was fetched: status, from (the
//	           URL after redirects), time, expires, cause, next_try, sha256
package explain
