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
// The client loads each origin's robots.txt when it is first needed, and keeps
// it for up to 24 hours (RFC 9309 §2.4). It refuses disallowed requests before
// anything is sent, and paces its requests to each host. The section Words,
// near the end, explains the terms.
//
// # Deciding and enforcing
//
// A Checker decides: Check(ctx, url) returns a Decision, with the rule and its
// line in the robots.txt. A Transport enforces: it is an http.RoundTripper
// around the caller's own, and asks its Checker about each request. An
// http.Client sends every redirect hop through its transport, so every hop is
// checked. Every method is checked too, including HEAD and OPTIONS. The query
// is matched as it is sent.
//
// # What is judged is what is sent
//
// An origin is a scheme, a host and a port: http and https on one host are two
// origins. ftp is an origin too. If Options.Base cannot fetch ftp URLs, their
// robots.txt is unreachable. Other schemes pass through, because robots.txt
// does not apply to them. All spellings of a host are one host (see
// politeness.HostKey). A request is sent with the Host that robots.txt was
// fetched with. This is the URL's host, unless the request has another Host of
// its own. Such a Host makes another origin at the same address. A request
// whose target names another authority (URL.Opaque, or a path in absolute form)
// is an error. So is a host that is longer than a name in the DNS can be. The
// length is checked first, so such a name is neither converted nor stored.
//
// Some servers treat different paths as one path. For example, they treat
// /x/%2e%2e/private/ and //private/ like /private/. So a path is judged in
// three forms: as it is written; with its dot segments resolved (RFC 3986
// §5.2.4) and then its empty segments merged; and with these two steps in the
// other order. If any of the three is disallowed, so is the URL.
// Decision.Resolved has the disallowed form, unless that is the form as
// written. %2F is not a slash (RFC 9309 §2.2.2). Semicolons, backslashes,
// letter case and the query are not changed. robotstxt.Rules.MatchResolved
// judges all three forms. robotstxt.Rules.Match judges only the form that it is
// given.
//
// # What an answer to robots.txt means
//
// RFC 9309 §2.3.1 distinguishes three outcomes, and so does Decision.Reason:
//
//   - Successful (2xx): the file's rules are obeyed, whatever its type.
//   - Unavailable (4xx except 429; more than five redirects, or a redirect that
//     leads nowhere): there are no rules; all is allowed. With
//     Options.DisallowForbidden, a 401 or 403 disallows all, as the draft of
//     1996 advises.
//   - Unreachable (429, 5xx and any status not named above, network failure, a
//     truncated or undecodable body, a wall's answer): all is disallowed until
//     the file can be fetched. If there is an earlier good copy, the copy is
//     obeyed instead. After its lifetime, the copy is marked Decision.Stale.
//     The next try is after Retry-After (up to 24 hours), or else after 1
//     minute, doubling up to 1 hour. With Options.AllowAfter30Days, an origin
//     that has been unreachable for 30 days, without a good copy, allows all.
//
// A good copy is also obeyed past its lifetime if a fetch would have to wait
// for its slot for more than ten seconds. Then the copy is used at once and
// marked stale, and robots.txt is fetched later, when the host's pace allows
// it. If the fetch would wait for less than that, for example until an interval
// is over, the request waits for the new file.
//
// A wall is a service that answers in the site's place: with a challenge, a
// block, a price or a demand for a licence, whatever the status. Package
// politeness/refusal knows the signs of walls. Two more answers are not the
// site's robots.txt. One is a 202 with an HTML page. The other is a 206,
// because no range was asked for. But a 451 is a 4xx like the others, and a
// guess from a page's marks does not outweigh a 404 or 410. An HTML page with
// status 200 and no sign of a wall is read like any robots.txt. It has no
// rules, unless some of its lines look like rules.
//
// An answer may have one content coding and be up to 4 MiB long before
// decoding. A name that is no coding, such as utf-8 or none, is ignored before
// plain text. Decoding must end within Options.RobotsTimeout. Decision.Cause
// keeps 300 bytes of what went wrong. A redirect to a URL of more than 8 KiB
// leads nowhere.
//
// A *DisallowedError has one of two reasons. errors.Is(err, ErrDisallowed)
// means that robots.txt or an option forbids the URL. errors.Is(err,
// ErrUnreachable) means that the rules are not known now.
//
// # How long a file is kept
//
// A file is kept as long as Cache-Control, Expires and Age say (RFC 9111), but
// for at least 5 minutes and at most 24 hours. If they say nothing, the file is
// kept for 24 hours. The record of an unavailable file is kept for the same
// time. But if the file is unavailable because a redirect led nowhere or there
// were too many redirects, the record is kept for one hour. A file is
// revalidated with its ETag and Last-Modified. The first request after four
// fifths of the lifetime starts a refresh in the background and does not wait
// for it. Records are in memory, bounded by Options.MaxOrigins and MaxBytes. A
// Store (package diskstore, redisstore) keeps them over a restart or shares
// them.
//
// When memory is full, the origin that was used longest ago goes. An
// unreachable origin stays until its next try: if it went, a server in trouble
// would be asked too soon. But such origins hold nine tenths of the places at
// most. Beyond that, one of them goes, at random. So a new origin is never
// refused for want of room, and no domain can shut out the others. A fetch that
// waits or runs takes a place too. If fetches hold all places, a new origin
// gets one above the limit.
//
// # One fetch
//
// However many requests need a robots.txt at the same time, it is fetched once.
// The fetch belongs to none of them: a request that gives up does not cancel it
// for the others. Each origin follows its own redirects, at the pace of the
// hosts that it asks. If a redirect leads to the robots.txt of an origin whose
// record is in memory and in force, that record is used.
//
// A fetch that has not got a slot is dropped when the last request that waited
// for it has left. Nothing was sent, and nothing remains. A fetch that has got
// a slot continues even if all requests have left, and its result is kept. A
// refresh continues too, although no request waits for it. There is one
// exception: while no request waits, any fetch or refresh is dropped if its
// next slot is more than ten minutes away. A redirect may lead a fetch to a
// host that may not be asked now. Such a fetch counts as refused until that
// host may be asked.
//
// # Time
//
// A request may wait in RoundTrip, for robots.txt and for its turn. An
// http.Client's Timeout includes this wait, so NewClient sets none. Instead,
// Options.AttemptTimeout limits each attempt from the end of its wait. A wait
// that would outlast the request's deadline fails at once with a
// *politeness.DelayError. The error says when to come again, and no slot is
// used up. If the fetch of robots.txt fails in this way, the origin does not
// count as unreachable.
//
// # Order of composition
//
// This package's Transport is outermost. Below it are the caller's cache and
// retries, then politeness, then http.Transport. So a blocked URL causes no
// retry and takes no slot. Each retry, redirect hop and robots.txt fetch waits
// for its turn. If you have neither a cache nor retries, set Options.Limiter.
// If you have one of them, leave Options.Limiter nil and put a
// politeness.Transport below it. Crawl-delay travels in the request's context
// and reaches the limiter in either case.
//
// # What pages say
//
// PageDirectives returns what a response says about itself: noindex, nofollow
// and the like, from X-Robots-Tag and from robots metas. The Transport only
// notes these directives: it blocks no page, and waits for none unless
// PageOptions.ReadAhead is set. A page that was not examined is
// PageNotExamined, and one that was closed early is PagePartial. What such a
// page says is unknown, so it may say noindex.
//
// PageDirectives also reports, as Page.Refusal, that a response is a refusal: a
// wall or the server answers with a challenge, a block, a price, a licence,
// legal reasons or a rate limit. A refusal must not be kept as content, and
// says nothing about indexing. Package politeness decides what a refusal means
// for the pace of the host. A price, a licence and legal reasons are final for
// a URL: the next request would get the same answer. This package does not
// solve challenges, does not repeat a refused request at once, and does not
// evade refusals.
//
// # Words
//
// The packages of this module use these words in one sense:
//
//	origin         scheme, host and port: what one robots.txt governs
//	host           a name or an address, whatever the port: it has one pace
//	product token  the name by which robots.txt addresses a crawler: ExampleBot
//	group          user-agent lines of a robots.txt, with the rules below them
//	rule           an Allow or Disallow line; its value is a pattern
//	target         what a pattern is compared with: a URL's path and query
//	decision       what robots.txt says about a URL, and why
//	record         what is known about an origin: its rules, or why it has none
//	lifetime       how long a record is used before robots.txt is fetched again
//	unavailable    there is no robots.txt, as after a 404: everything is allowed
//	unreachable    robots.txt cannot be fetched now: everything is disallowed
//	stale          past its lifetime, and used while robots.txt cannot be fetched
//	wall           a service that answers in the site's place
//	refusal        an answer that is not the page: a challenge, a block, a price
//	directive      what a page says to robots about itself: noindex
//	pace           when a host may be asked: its interval, pauses, slots, budget
//	interval       the time between the starts of two requests to a host
//	Crawl-delay    the interval that a robots.txt asks for
//	pause          a time in which a host is not asked, as after a 429
//	slot           the right to have one request to a host in flight
//	budget         how much a host is asked for in a day
//	fleet          processes that keep one pace for each host
//	owner          the process of a fleet that may ask a host now
//	lease          how long a silent owner keeps its hosts
//
// # What is not promised
//
// robots.txt is advice that a crawler takes, not access control. Courtesy knows
// what the file says, but not what its owner meant. And a server may refuse a
// crawler for other reasons.
package robotsmw
