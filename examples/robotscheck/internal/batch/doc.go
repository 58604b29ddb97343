// Package batch implements robotscheck batch.
//
// Batch reads questions from FILE or standard input, one JSON object per line:
//
//	robots    the text of a robots.txt
//	file      or instead the path of a robots.txt, which is read only once
//	agent     the robot's product token, or "*"
//	url       a URL or "/path?query"
//
// and writes the verdicts in the same order, one JSON object per line (-json is
// always on):
//
//	url       as in the question
//	agent     as in the question
//	allowed   true or false
//	reason    "rule" (a rule decides), "no-match" (no rule of the group
//	          matches), "empty-group", "no-group" (none for this robot nor for
//	          "*"), "robots-txt" (/robots.txt is always allowed),
//	          "too-much-work" (rules made to be expensive: disallowed),
//	          "unavailable" (4xx: allowed), "unreachable" (5xx, network:
//	          disallowed)
//	rule      the rule that decides, as "Disallow: /a"
//	line      the number of its line
//	resolved  the other path that servers may take the URL for, if the rule
//	          disallows that: "/private/" for "/x/../private/"
//	doubt     why the answer is doubtful: the robots.txt is longer than the
//	          500 KiB that robots read, binary, in UTF-16, or an HTML page;
//	          absent if it is not doubtful
//
// If a line cannot be answered, batch writes an object with input_line (its
// number) and error instead of a verdict, and answers the other lines. Memory
// is bounded: -cache limits the files in memory, and a line has at most 16 MiB.
//
//	$ cat questions.jsonl
//	{"robots":"User-agent: *\nDisallow: /a\n","agent":"ExampleBot","url":"/a/b"}
//	{"file":"robots.txt","agent":"ExampleBot","url":"https://example.com/c"}
//	$ robotscheck batch questions.jsonl
//	{"url":"/a/b","agent":"ExampleBot","allowed":false,"reason":"rule", …}
//	{"url":"https://example.com/c","agent":"ExampleBot","allowed":true, …}
//
// With -urls, the questions are plain URLs or paths, one per line, and FILE is
// a robots.txt, or its URL. Each question is answered for each -agent.
//
//	robotscheck batch -agent ExampleBot -urls urls.txt robots.txt
//	curl -s https://example.com/urls.txt | robotscheck batch -agent ExampleBot \
//	    -urls - https://example.com/robots.txt
//
// Exit status: 0 all are allowed, 1 one is disallowed, 2 a line could not be
// answered, 3 an answer is doubtful: the robots.txt is cut at 500 KiB, binary,
// or an HTML page.
package batch
