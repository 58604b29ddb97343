// Package diff implements robotscheck diff.
//
// Diff reports which of the URLs in a file change their verdict between two
// robots.txt files, for which robots, and by which lines. OLD and NEW are files
// or URLs, so you can compare an edit with the robots.txt in force:
//
//	robotscheck diff https://example.com/robots.txt edited.txt -urls urls.txt
//
// The verdicts are those of RFC 9309. If they change differently, or not at
// all, with Google's parser or the draft of 1996, those verdicts follow.
//
// Exit status: 0 no verdict changes, 1 one does, 2 there is no answer, 3 the
// answer is doubtful: OLD or NEW is cut at 500 KiB, binary, in UTF-16, or an
// HTML page. The output begins with the reason.
//
// With -json, first an object for each of OLD and NEW that is doubtful:
//
//	source    the file, or the URL of the robots.txt
//	doubt     why it is doubtful
//
// and then one for each changed verdict on a URL:
//
//	url       as in the file
//	agents    the robots with this change
//	old, new  the verdicts, each with:
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
//	dialects  if the verdicts change differently, or not at all, with "google"
//	          (its parser) or "koster1996" (the draft of 1996):
//	          [{"agents", "old", "new"}] by this name
package diff
