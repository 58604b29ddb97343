// Package robotsmw makes an http.Client obey robots.txt.
//
//	client, err := robotsmw.NewClient(robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//	...
//	resp, err := client.Get("https://example.com/page")
//	if disallowed, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
//		decision := disallowed.Decision
//		switch {
//		case errors.Is(err, robotsmw.ErrDisallowed):
//			log.Print(decision) // with the rule and its line in robots.txt
//		case errors.Is(err, robotsmw.ErrUnreachable):
//			log.Print("not now: ", decision) // with the cause and the next try
//		}
//	}
//
// The client fetches the robots.txt of an origin when it is first needed, and
// keeps it for up to 24 hours (RFC 9309 §2.4). A disallowed request fails
// before it is sent. Requests to one host are delayed as package politeness
// describes. The response to a request that was sent is returned whatever its
// status: a 429 or 503 delays the later requests to its host, but is not
// retried.
//
// # Deciding and enforcing
//
// A [Checker] decides: Check(ctx, url) returns a [Decision], with the rule and
// its line in the robots.txt. A [Transport] enforces: it is an
// http.RoundTripper around the caller's own, and calls its Checker for each
// request. An http.Client sends every redirect through its transport, so every
// redirect is checked. Every method is checked too.
//
// If robots.txt does not exist, everything is allowed. If robots.txt is
// unreachable, everything is disallowed, unless there is an earlier copy. The
// documentation of these names states the decisions, with their sources:
//
//   - [Checker]: how long a file is kept, and when it is fetched
//   - [Checker.Check]: what an origin is, and which forms of a path are judged
//   - [Reason]: what each response to a request for robots.txt means
//
// # Time
//
// A request may wait in RoundTrip, for robots.txt and for its host. Because the
// Timeout of an http.Client includes this wait, NewClient sets none. Instead,
// Options.AttemptTimeout limits each attempt, from the end of its wait. If the
// wait would outlast the request's deadline, RoundTrip fails immediately with a
// *politeness.DelayError, whose Until is when to retry. No slot is used up.
//
// # Order of composition
//
// The Transport of this package is the outermost one. Below it are the caller's
// cache and retries, then a politeness.Transport, then an http.Transport. In
// this order, a disallowed URL is not retried and takes no slot, and each
// retry, redirect and robots.txt fetch waits for its host. A program that has
// neither a cache nor retries should set Options.Limiter. A program that has
// one of them should leave Options.Limiter nil and put a politeness.Transport
// below it. The Crawl-delay is a value of the request's context, and reaches
// the Limiter in either case.
//
// # Other clients
//
// A headless browser, or any other client that cannot use an http.RoundTripper,
// calls [Transport.Admit] before each request and [Admission.Done] after it.
// Admit decides and waits as RoundTrip does, and returns the same errors.
//
// # Page directives
//
// [PageDirectives] returns the directives of a response: noindex, nofollow and
// the like. The Transport collects them, and blocks no page because of them.
// Because a page may contain them too, the body should be read first:
//
//	body, err := io.ReadAll(resp.Body)
//	...
//	if robotsmw.PageDirectives(resp).NoIndex() {
//		return // do not index body
//	}
//
// If the response came from bot protection instead of the site, such as a
// challenge, Page.Refusal describes it.
//
// # Words
//
// The packages of this module use each of these words with one meaning:
//
//	origin         scheme, host and port: what one robots.txt governs
//	host           a name or an address, with all its ports: it has one queue
//	product token  the name by which robots.txt addresses a crawler: ExampleBot
//	group          user-agent lines of a robots.txt, with the rules below them
//	rule           an Allow or Disallow line; its value is a pattern
//	target         a URL's path and query, which is compared with patterns
//	record         what is known about an origin: its rules, or why it has none
//	unavailable    there is no robots.txt, as after a 404
//	unreachable    robots.txt cannot be fetched now
//	stale          past its lifetime, and used while robots.txt is unreachable
//	refusal        a response instead of the page: a challenge, a block, a price
//	slot           the right to have one request to a host in flight
//
// # What is not promised
//
// robots.txt is advice to crawlers, not access control. Courtesy obeys what the
// file contains, which may not be what its owner meant. A server may block a
// crawler for other reasons.
package robotsmw
