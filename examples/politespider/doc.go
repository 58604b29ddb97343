// Politespider crawls websites as their robots.txt asks. It shows how to build
// a polite crawler from colly and Courtesy.
//
//	politespider [flags] URL...       crawl these sites
//	politespider [flags] demo         crawl a demo internet on loopback
//	politespider                      crawl the demo, too
//
// It obeys every robots.txt, paces its requests to each host, obeys noindex and
// nofollow, and comes back later when a server asks it to. It follows links
// within the hosts of the URLs that it is given. -scope makes that wider or
// narrower, and -depth limits how far it follows them. With -sitemaps, it also
// begins with the URLs in the sites' sitemaps.
//
// # What becomes of a URL
//
// Each URL of the crawl gets one of these verdicts, and all output uses the
// same words:
//
//	fetched      the server sent the page: 2xx
//	moved        the server redirected: 3xx; the target is queued as a new URL
//	not found    there is no such page: 404 or 410
//	refused      the server refused: another 4xx, or a 2xx or 3xx that is surely
//	             a refusal, such as a wall's challenge
//	blocked      a rule of robots.txt, which is named, forbids it; nothing was sent
//	unreachable  robots.txt could not be fetched, so everything is disallowed
//	put off      429 or 503: the page goes back into the queue
//	given up     429 or 503 once too often
//	failed       there is no answer, half of one, or another status, such as 500
//
// A page that is refused, unreachable, given up or failed is lost: it probably
// exists, and the crawl does not have it.
//
// A page that was put off is requested four times at most. If the answer has a
// Retry-After, the spider leaves the whole host alone for that time, up to a
// day. If not, the page waits for about as long as ten pages of its host take,
// then 20, then 40. Meanwhile the host's other pages go on at the pace that the
// Limiter sets. If the page answers 503 without a Retry-After once more, and
// its host has answered another page meanwhile, the spider gives the page up.
//
// For each page, the spider says what the page and its robots.txt ask for, and
// where. These are directives such as noindex, and whether the owner agrees to
// search, to AI training, and to use as input to AI. With -rsl FILE, the terms
// in a file of RSL 1.0 are included. None of this changes what is fetched. If a
// statement is marked as a draft, the document that defines it may still
// change, and the summary names the document.
//
// If an answer is a refusal instead of a page, such as a wall's challenge or a
// price, the spider says so and names the evidence. It does not solve a
// challenge, repeat the request at once or get round the refusal. It neither
// keeps such an answer nor follows links in it. If only the text looks like a
// refusal, the answer counts as a page, and the summary lists it.
//
// # The report
//
// With -report FILE, the outcome of a run is written as one HTML file, which a
// browser opens without a network. For each host it shows the start of every
// request against the interval in force, and the pauses after a 429 or 503 with
// the time they cost. It also shows the answers by status and how long they
// took, which line of which robots.txt blocked what, what pages say, and what
// was lost. It is written after Ctrl-C too. If -resume continues a crawl, the
// report covers the whole crawl. With -compare FILE, it also shows what changed
// since an earlier crawl, whose -json output is in FILE. For the report, the
// spider keeps in memory each request and each URL that was left alone, some
// 100 bytes each. After a million of them, it only counts the rest.
//
// With -evidence DIR, the spider writes a record of the crawl that others can
// check: each request with what allowed it, and each robots.txt as it was seen
// (package evidence). The report then links each blocked URL to its proof. The
// record's last hash is printed, so that it can be deposited elsewhere. With
// -from-end, each interval begins when the request before it has ended. So the
// servers' own logs show the interval too, even if a request was slow to
// arrive.
//
// # Saying who crawls
//
// With -key FILE and -signature-agent URL, each request over https is signed
// (Web Bot Auth), so a server that reads the public key at URL knows who asks.
// If a server answers 401, 403 or 429 and asks for a signature with
// Accept-Signature, the output says in words what it asks for, whether requests
// are signed or not. -card prints who crawls, by which rules and at what pace,
// for others to read. It is made from the settings that the crawl would use.
//
// # Stopping and going on
//
// With -resume DIR, the state of the crawl is kept in a directory. Whatever
// stops the spider, even kill -9, the same command continues the crawl, and so
// does politespider -resume DIR. No page is lost, and only the pages that were
// under way are fetched twice.
//
// With -redis URL, the state is kept in Redis or Valkey. Any number of
// processes, on one machine or many, take part in one crawl if they are started
// by the same command. They fetch robots.txt and keep each host's pace as if
// they were one process. If one of them dies, the others take over its pages.
//
// -resume and -redis also keep how much of -budget-requests and -budget-bytes
// is used. A host whose budget is spent is left alone until the next day.
//
// The exit status is
//
//   - 0 if the crawl ran to its end, or to -max-pages or -max-time;
//   - 1 if not a single page was fetched, if the crawl could not begin, or if
//     something could not be written: the output, the report, a page, the
//     record or the state of the crawl;
//   - 2 if the command line is wrong;
//   - 130 if Ctrl-C or SIGTERM interrupted the crawl. The spider still prints
//     its summary and how to continue.
package main
