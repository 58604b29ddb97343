// Politespider crawls websites and obeys their robots.txt. Its source shows how
// to build a polite crawler from colly and Courtesy.
//
//	politespider [flags] URL...       crawl these sites
//	politespider [flags] demo         crawl a demo internet on loopback
//	politespider                      the same as politespider demo
//
// The spider obeys every robots.txt, limits the rate of requests to each host,
// and obeys noindex and nofollow. It does not follow links with rel="nofollow",
// as if Extension.ObeyRelNoFollow of collyrobots were set. If a response
// requests a delay, the spider waits that long. It follows the links to the
// hosts of its start URLs. The flag -scope makes it follow more links, or
// fewer. The flag -depth limits how many links lead from a start URL to a page.
// With -sitemaps, the spider also starts from the URLs in the sites' sitemaps.
//
// # Verdicts
//
// Each URL of the crawl has one of these verdicts, in all forms of output:
//
//	fetched      the server sent the page: 2xx
//	unchanged    304: with -revisit, the page is as it was in an earlier crawl
//	moved        the server redirected: 3xx; the target is queued as a new URL
//	not found    there is no such page: 404 or 410
//	refused      the server refused: another 4xx, or a 2xx or 3xx that is surely
//	             a refusal, such as a challenge
//	disallowed   a rule of robots.txt forbids the URL; no request was sent, and
//	             the output contains the rule
//	unreachable  robots.txt could not be fetched, so everything is disallowed
//	put off      429 or 503: the page goes back into the queue
//	given up     429 or 503 too often
//	failed       no response, a truncated one, or another status, such as 500
//
// A page that is refused, unreachable, given up or failed counts as lost: it
// probably exists, and the crawl does not have it.
//
// A page that was put off is requested at most four times. If the response has
// a Retry-After, the whole host is paused for that time, up to a day.
// Otherwise, only the page waits: for about ten intervals of its host, then 20,
// then 40. Meanwhile, the spider requests the other pages of the host at the
// usual pace. If one of these requests succeeds and the page then gets another
// 503 without a Retry-After, the page is given up.
//
// If only pages that were put off are left, the spider cannot distinguish a
// broken page from a server that is down. It therefore checks the server with a
// request for a page that the server has sent before. The output shows this as
// "checked". If the checks succeed, a page is given up at its third try. The
// checks end if three in a row fail, or if 24 have succeeded while every
// request for a page failed.
//
// For each page, the spider prints the directives, such as noindex, and the
// usage preferences that the page and its robots.txt contain, each with its
// place. Usage preferences state whether the owner agrees to the use of the
// page for search, for AI training, and as input to AI. With -rsl FILE, the
// spider also reads the terms in FILE, in the format RSL 1.0. Usage preferences
// do not change what the spider fetches. A signal that only a draft defines is
// marked "(draft)", and the summary names the draft.
//
// If a response is from bot protection instead of a page, such as a challenge
// or a request for payment, the spider reports it with the evidence. The spider
// does not solve a challenge, repeat the request immediately or circumvent the
// bot protection. It neither keeps such a response nor follows links in it. If
// a 2xx is perhaps a refusal, but not surely, it counts as a page, and the
// summary lists it.
//
// With -max-refused N, the crawl of a host ends when the host has refused N
// pages: no further request is sent to it, and its other pages stay in the
// queue. The crawl of the other hosts continues. The summary contains the host
// and the number of these pages. All runs and all processes of a crawl count
// together, so in a crawl that is kept with -resume, a run with a larger
// -max-refused fetches the pages.
//
// # The report
//
// With -report FILE, the spider writes the outcome of a run as one HTML file. A
// browser shows the file without a network. For each host, the report compares
// the gaps between requests with the interval in force. It shows the pauses
// after a 429 or 503 and how long they were, the responses by status, and the
// response times. It also shows which line of which robots.txt disallowed which
// URLs, the directives of pages, and the lost URLs.
//
// The spider writes the report after Ctrl-C too. If -resume continues a crawl,
// the report covers the whole crawl. With -compare FILE, it also shows what
// changed since an earlier crawl, whose -json output is in FILE. For the
// report, the spider keeps each request in memory, and each URL that it did not
// request. Each takes about 100 bytes. The spider keeps at most a million of
// them, and only counts the others.
//
// With -evidence DIR, the spider writes a record of the crawl that others can
// check (package evidence). The record has each request with the decision that
// allowed it, and each robots.txt as the spider saw it. If there is also a
// report, it links each disallowed URL to its proof. Every hour and at the end,
// the spider prints the head of the record: the number and hash of its last
// line. The head should be deposited elsewhere. With it, robotscheck audit
// -head detects whether any line up to this one was changed or removed.
//
// With -from-end, each interval begins at the end of the previous request, so
// that the servers' own logs show the interval too, even if a request was slow
// to arrive.
//
// # Identifying the crawler
//
// With -key FILE and -signature-agent URL, the spider signs each request over
// https (Web Bot Auth). A server can read the public key at URL to identify the
// crawler. A server that responds with 401, 403 or 429 may request a signature,
// in the header Accept-Signature. The output then describes the requested
// signature, even if the requests are signed.
//
// -card prints a card that identifies the crawler and describes its rules and
// its pace. The spider makes the card from the settings that the crawl would
// use.
//
// # Interrupting and resuming
//
// With -resume DIR, the spider keeps the state of the crawl in a directory. If
// the spider is stopped, even by kill -9, the same command continues the crawl,
// and so does politespider -resume DIR. No page is lost. Only the pages that
// were being fetched are fetched again.
//
// The program politespider/fleet is this spider for any number of processes, on
// one machine or many. All processes that are started by the same command share
// one crawl, whose state is in Redis or Valkey (flag -redis). Together, they
// fetch robots.txt and keep the pace of each host like a single process. If a
// process dies, the others take over its pages.
//
// When the budget of a host for the day (-budget-requests, -budget-bytes) is
// spent, the host is paused until the next day. A single process keeps the
// count in memory, so a run that is resumed with -resume begins with a full
// budget, even on the same day. A fleet keeps the count in Redis. To keep it
// between runs, use politespider/fleet, even for a single process.
//
// The exit status is
//
//   - 0 if the crawl ran to its end, or to -max-pages or -max-time;
//   - 1 if not a single page was fetched, if the crawl could not begin, or if
//     something could not be written: the output, the report, a page, the
//     record or the state of the crawl;
//   - 2 if the command line is wrong;
//   - 3 if the crawl of a host ended at -max-refused and pages of the host are
//     missing, even if no page was fetched;
//   - 130 if Ctrl-C or SIGTERM interrupted the crawl. The spider still prints
//     its summary and how to continue.
//
// # At scale
//
// The speed of a crawl is limited by politeness: at one request a second to
// each host, a thousand pages a second require a thousand hosts. A million
// origins take about 320 MB for their robots.txt (of a corpus of real files, of
// which equal ones are stored once) and 180 MB for the state of their hosts.
package main
