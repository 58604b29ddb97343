// Package page implements robotscheck page.
//
// Page lists the directives of an HTML page and its response header (noindex,
// nofollow and others), the preferences of the owner for uses of the page
// (search, AI), and the place of each of them. A URL is fetched if its
// robots.txt allows it for the robot of -agent or, without -agent, of
// -user-agent. The preferences in that robots.txt count too, and so do the RSL
// files in its License lines and in the Link header, if their own robots.txt
// allows fetching them. For a FILE, -header sets the header and -rsl the RSL
// files.
//
//	robotscheck page -agent ExampleBot -header 'X-Robots-Tag: noindex' a.html
//	robotscheck page -links https://example.com/
//
// Exit status: 0 the page restricts nothing, 1 it does, or robots.txt disallows
// it, 2 there is no result, 3 there is a result, but the page is not text, or
// the robots.txt is cut at 500 KiB, binary, or an HTML page.
//
// With -json, one object:
//
//	source        the file, or the URL after redirects
//	agent         the robot; absent for a FILE without -agent
//	status        of the response, for a URL
//	examined      "complete", "partial" (the page is longer than the 256 KiB
//	              that are examined), "header only" (no HTML)
//	refusal       {"by", "kind", "sure", "evidence"}, if it looks like a
//	              response of bot protection
//	restrictions  the result: "noindex", "nofollow", "noarchive", "nosnippet",
//	              "max-snippet: 20", ...
//	directives    [{"name", "value", "known", "source", "scope", "line",
//	              "raw"}]: all directives
//	uses          [{"use", "answer", "evidence"}]: "search", "train-ai",
//	              "train-ai-images", "ai-input" are "allow", "deny" or
//	              "unknown", by [{"use", "answer", "signal", "where", "line",
//	              "path", "raw", "policy", "draft"}]
//	reuse         the strictest "use" of Content-Signal ("use=immediate",
//	              "use=reference" or "use=full", in raw), as above
//	licenses      [{"url", "where", "line", "error"}]; if there is an error,
//	              the terms could not be read
//	links         with -links: [{"url", "element", "rel", "follow", "why"}]
//	doubt         why the page is not text, or, for a URL, why its robots.txt
//	              may not be meant for robots; absent if there is no doubt
//	decision      for a URL, the decision of its robots.txt: url, allowed, reason,
//	              rule, line, robots_url, status, ...
package page
