// Package robotsmw makes an http.Client obey robots.txt.
//
//	client, err := robotsmw.NewClient(robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//	...
//	resp, err := client.Get("https://example.com/page")
//	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
//		log.Print(blocked.Decision) // which rule, on which line of which robots.txt
//	}
//
// That client loads each origin's robots.txt when it is first needed, keeps it
// for as long as RFC 9309 allows, refuses what is disallowed before anything is
// sent, and paces its requests per host.
//
// # Deciding and enforcing
//
// A Checker decides: Check(ctx, url) is a Decision, with the rule, the line,
// and the robots.txt that it rests on. A Transport enforces: it is an
// http.RoundTripper around the caller's own, and asks its Checker about each
// request. Because an http.Client sends every redirect hop through its
// transport, every hop is checked; so is every method, HEAD and OPTIONS
// included. The query is matched as it is sent.
//
// # What is judged is what is sent
//
// An origin is a scheme, a host and a port: http and https of a host are two.
// ftp is an origin too, where Options.Base can fetch it. Other schemes pass
// through, because robots.txt does not apply to them. All spellings of a host
// are one (politeness.HostKey says which), and the Host that is sent is the one
// that robots.txt was asked for with: that of the URL, or the request's own,
// which makes an origin of its own at the same address. A request whose target
// names another authority (URL.Opaque, or a path in absolute form) is an error.
// So is a host that is longer than a name in the DNS can be, before it is
// converted or anything is kept of it.
//
// Servers take one path for another: /x/%2e%2e/private/ and //private/ for
// /private/. So a path is judged as it is written; with its dot segments
// resolved (RFC 3986 §5.2.4) and then its empty ones merged; and in the other
// order. If any of the three is disallowed, so is the URL, and
// Decision.Resolved says by which name. %2F is no slash (RFC 9309 §2.2.2), and
// semicolons, backslashes, letter case and the query are left alone.
// robotstxt.Rules judges what it is given.
//
// # What an answer to robots.txt means
//
// RFC 9309 §2.3.1 tells three outcomes apart, and so does Decision.Reason:
//
//   - Successful (2xx): the file's rules are obeyed, whatever its type.
//   - Unavailable (4xx but 429; more than five redirects, or one that leads
//     nowhere): there are no rules; all is allowed. With
//     Options.DisallowForbidden, a 401 or 403 disallows all, as the draft of
//     1996 advises.
//   - Unreachable (429, 5xx and any other status, network failure, a truncated
//     or undecodable body, a wall's answer): all is disallowed, until the file
//     can be had. A good copy fetched before goes on being obeyed for as long
//     as that lasts, marked Decision.Stale. The next try is after Retry-After,
//     else after 1 minute, doubling up to 1 hour. With
//     Options.AllowAfter30Days, what has been unreachable for 30 days, with no
//     good copy, is allowed.
//
// A good copy whose time is over is obeyed, too, while its host may not be
// asked because it rests: if the fetch would wait for its slot for more than
// ten seconds. It serves at once, marked stale, and the fetch is made when the
// host may be asked. A shorter wait is an interval, and the new file is waited
// for.
//
// A wall is a service that answers in the site's place: with a challenge, a
// block, a price or a demand for a licence, whatever the status. Package
// politeness/refusal knows the signs. A 202 with an HTML page, and a 206, which
// nobody asked for, are not the site's robots.txt either. But 451 is a 4xx like
// others, and an HTML page with status 200 and no wall's mark is a file without
// rules.
//
// An answer may have one content coding, and 4 MiB before it is undone; it is
// undone within Options.RobotsTimeout. Of what went wrong, Decision.Cause keeps
// 300 bytes. A redirect to a URL of more than 8 KiB leads nowhere.
//
// The error tells the two kinds of no apart: errors.Is(err, ErrDisallowed) is
// the owner's word, errors.Is(err, ErrUnreachable) is for the time being.
//
// # How long a file is kept
//
// As long as Cache-Control, Expires and Age say (RFC 9111), within 5 minutes
// and 24 hours, and for 24 hours where they say nothing. An unavailable file is
// kept as a good one is, but for an hour after redirects that go in a circle. A
// file is revalidated with its ETag or Last-Modified, and refreshed in the
// background once four fifths of its time are over, so that no request has to
// wait. Records are in memory, bounded by Options.MaxOrigins and MaxBytes; a
// Store (package diskstore, redisstore) keeps them over a restart or shares
// them.
//
// An origin that is unreachable keeps its place until its next try, or a server
// in trouble would be asked too soon; so does one that is being fetched. When
// such origins have all places, the owner with the most unreachable ones gives
// way. One entry then stands for those of the registrable domain (or IP
// address, or /64 network) that are forgotten: until the last of them might be
// tried again, an origin of the domain that is not known is refused with a
// *politeness.DelayError, and nobody asks it. If no owner has two, it is the
// new origin that is refused, until the first of the others is due.
//
// # One fetch
//
// However many requests need a robots.txt at the same time, it is fetched once.
// The fetch belongs to none of them: one that gives up does not cancel it for
// the others. Origins that redirect to the robots.txt of another share that
// file.
//
// A fetch that still waits for its first slot is dropped when the last request
// that waited for it has left: nothing was asked, and nothing is left behind.
// One that has had a slot goes on, and is kept; so does a refresh, which nobody
// waits for. Neither keeps a goroutine for a host that rests for more than ten
// minutes: the refresh is begun again when the host may be asked, and a fetch
// that a redirect has led there counts as refused until then.
//
// # Time
//
// A request may wait in RoundTrip, for robots.txt and for its turn. An
// http.Client's Timeout counts that too, so NewClient sets none, and
// Options.AttemptTimeout limits each attempt from the end of its wait. A wait
// that would outlast the request's deadline fails at once with a
// *politeness.DelayError that says until when, and consumes nothing. Such a
// refusal of the fetch of robots.txt is never taken for an outage.
//
// # Order of composition
//
// Robots is outermost, then the caller's cache and retries, then politeness,
// then http.Transport. So a blocked URL costs neither a retry nor a slot, and
// each retry, redirect hop and robots.txt fetch waits its turn. With nothing in
// between, set Options.Limiter; with a cache or retries of your own, put a
// politeness.Transport below them and leave it nil. Crawl-delay travels in the
// request's context and reaches the limiter in either case.
//
// # What pages say
//
// PageDirectives tells what a response says about itself: noindex, nofollow and
// their like, from X-Robots-Tag and from robots metas. The Transport only notes
// it; it never blocks a page, nor holds it up. A page that was not looked into
// is PageNotExamined, and one that was closed early PagePartial: what those say
// is unknown, which is not "nothing".
//
// It also tells, as Page.Refusal, that a response is no page: that a wall or
// the server challenges, blocks, names a price or a licence, or limits the
// rate. Such a response is not to be kept as content, and says nothing about
// indexing; what follows for the pace of its host is package politeness's
// part. A price, a licence and legal reasons are final for a URL: to ask again
// brings the same answer. Nothing here solves a challenge, asks again at once,
// or gets round a refusal.
//
// # What is not promised
//
// robots.txt is advice that a crawler takes, not access control: Courtesy
// cannot know what an owner meant, only what the file says. Nothing here keeps
// a crawler from being refused by a server for other reasons.
package robotsmw
