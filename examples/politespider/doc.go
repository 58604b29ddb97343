// Politespider crawls websites as their robots.txt asks: the example of a
// polite crawler built from colly and Courtesy.
//
//	politespider [flags] URL...       crawl these sites
//	politespider [flags] demo         crawl a demo internet on loopback
//	politespider                      the same
//
// It obeys every robots.txt it meets, paces its requests to each host, does as
// noindex and nofollow say, and comes back when a server asks for time. It
// follows links within the hosts of the URLs it was given; -scope makes that
// wider or narrower, -depth ends it sooner, and -sitemaps begins with what the
// sites list themselves.
//
// # What becomes of a URL
//
// Each URL that it finds is accounted for, in the same words wherever it is
// spoken of:
//
//	fetched      the server sent the page: 2xx
//	moved        it redirected: 3xx; where to is a URL of its own
//	not found    there is no such page: 404 or 410
//	refused      the server says no: another 4xx, or a wall's challenge, whatever
//	             its status
//	blocked      a rule of robots.txt says no, and which; nothing was sent
//	unreachable  robots.txt could not be had, so that nothing is allowed
//	put off      429 or 503: the page goes back into the queue
//	given up     429 or 503 once too often
//	failed       there is no answer, half of one, or another status, such as 500
//
// What is refused, unreachable, given up or failed is lost: there is nothing of
// a page that may well be there.
//
// A page that was put off is asked for four times at most. With a Retry-After
// its host is left alone until then. Without one the page waits by itself, for
// some ten pages of its host, then 20, then 40, and the host goes on: it is
// given up after the second try if its host answers others.
//
// Of each page it says what the page and its robots.txt ask for, and where they
// do: directives such as noindex, and whether the owner agrees to search, to
// the training of AI, and to its use as input to AI. With -rsl FILE the terms
// of a file of RSL 1.0 count among that. It changes nothing about fetching.
// What is marked as a draft is read by a document that may still change; the
// summary names it.
//
// An answer that is no page but a refusal, such as the challenge of a wall or a
// price, is told as one, with what shows it. None is solved, asked for again at
// once, or got round: its links are not followed and it is not kept. Where only
// the text looks like one, it is a page all the same, and the summary lists it.
//
// # The report
//
// With -report FILE what a run came to is written as one HTML file, to be
// opened in a browser without a network: for each host the start of every
// request against the interval in force, and the pauses after a 429 or 503, with
// the time that was lost to them; answers by status, and how long they took; what
// was blocked by which line of which robots.txt; what pages say, what was lost.
// It is written after Ctrl-C, too, and is of the whole crawl if -resume goes on
// with one. With -compare FILE it also shows what changed since an earlier
// crawl, of which FILE has the -json output. Meanwhile the spider keeps up to a
// million requests and refusals in memory, some 100 bytes each, and counts the
// rest.
//
// With -evidence DIR a record of the crawl is written that others can check:
// each request with what let it go, and each robots.txt as it was seen (package
// evidence). The report then links each URL that was blocked to its proof, and
// the record's last hash is printed, to be deposited elsewhere.
//
// # Saying who crawls
//
// With -key FILE and -signature-agent URL each request over https is signed
// (Web Bot Auth), so that a server that looks at the public key at URL knows
// who asks. What a server asks for in Accept-Signature when it answers 401, 403
// or 429 is said in words, whether requests are signed or not. -card prints who
// crawls, by which rules and at what pace, for others to read; it is taken from
// what the crawl would do.
//
// # Stopping and going on
//
// With -resume DIR the state of the crawl is kept in a directory: whatever
// stops the spider, kill -9 included, the same command goes on where it was,
// and so does politespider -resume DIR. No page is lost, and none fetched twice
// but those that were under way. With -redis URL it is kept in Redis or Valkey,
// and any number of processes take part in one crawl, on one machine or many,
// started by the same command; robots.txt is fetched, and the pace of a host
// kept, as if they were one. What one of them was at that died, the others take
// over. The same keeps what is used of -budget-requests and -budget-bytes: a
// host whose day is spent is left until the next one.
//
// The exit status is 0 if the crawl ran to its end, or to -max-pages or
// -max-time; 1 if not a single page was fetched, or if something could not
// be kept, be it the output, the state of the crawl or a page; 2 if it was
// called wrongly; and 130 if it was interrupted: by Ctrl-C or SIGTERM, after
// which it still prints its summary, and how to go on.
package main
