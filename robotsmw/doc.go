// Package robotsmw makes an http.Client obey robots.txt.
//
//	client, err := robotsmw.NewClient(robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//	...
//	resp, err := client.Get("https://example.com/page")
//	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
//		log.Print(blocked.Decision) // which rule, on which line of which file
//	}
//
// The client loads each origin's robots.txt when it is first needed, and keeps
// it for up to 24 hours (RFC 9309 §2.4). It refuses disallowed requests before
// anything is sent, and paces its requests to each host.
//
// # Deciding and enforcing
//
// A [Checker] decides: Check(ctx, url) returns a [Decision], with the rule and
// its line in the robots.txt. A [Transport] enforces: it is an
// http.RoundTripper around the caller's own, and asks its Checker about each
// request. An http.Client sends every redirect hop through its transport, so
// every hop is checked. Every method is checked too.
//
// If there is no robots.txt, everything is allowed. If robots.txt cannot be
// fetched, everything is disallowed until it can, unless there is an earlier
// copy. The docs of these names state what is decided, with the sources:
//
//   - [Checker]: how long a file is kept, and when it is fetched
//   - [Checker.Check]: what an origin is, and which forms of a path are judged
//   - [Reason]: what each answer to a request for robots.txt means
//
// # Time
//
// A request may wait in RoundTrip, for robots.txt and for its turn. An
// http.Client's Timeout includes this wait, so NewClient sets none. Instead,
// Options.AttemptTimeout limits each attempt from the end of its wait. A wait
// that would outlast the request's deadline fails at once with a
// *politeness.DelayError. The error says when to come again, and no slot is
// used up.
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
// # Other clients
//
// A headless browser, or any other client that cannot use an http.RoundTripper,
// calls [Transport.Admit] before each request and [Admission.Done] after it.
// Admit decides and waits as RoundTrip does, and returns the same errors.
//
// # What pages say
//
// [PageDirectives] returns what a response says about itself: noindex, nofollow
// and the like. The Transport only notes this and blocks no page because of it.
// PageDirectives also tells, as Page.Refusal, that a response is a refusal in
// the page's place, such as the challenge of a wall.
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
//	target         a URL's path and query, which is compared with patterns
//	record         what is known about an origin: its rules, or why it has none
//	unavailable    there is no robots.txt, as after a 404
//	unreachable    robots.txt cannot be fetched now
//	stale          past its lifetime, and used while robots.txt cannot be fetched
//	wall           a service that answers in the site's place
//	refusal        an answer that is not the page: a challenge, a block, a price
//	slot           the right to have one request to a host in flight
//
// # What is not promised
//
// robots.txt is advice that a crawler takes, not access control. Courtesy knows
// what the file says, but not what its owner meant. And a server may refuse a
// crawler for other reasons.
package robotsmw
