// Package revisit asks a server again only for what may have changed.
//
//	robots, err := robotsmw.NewTransport(opts)
//	...
//	client := &http.Client{Transport: &revisit.Transport{Base: robots}}
//	resp, err := client.Get("https://example.com/feed")
//	...
//	if visit, ok := revisit.Of(resp); ok && visit.Unchanged {
//		// Nothing new since visit.Since. visit.Directives has the noindex
//		// that the page had.
//	}
//
// A [Transport] remembers for each URL its validators (ETag, Last-Modified),
// how long it stays fresh, and what the page says to robots. It keeps no
// bodies, so keep what you have made of the page.
//
// # What a caller gets
//
//   - While a page is fresh (Cache-Control, Expires, Age), nothing is sent. The
//     response is a 304 (Not Modified) with an empty body, made here. It takes
//     no slot of its host, and is not judged by robots.txt again.
//   - While a 301, 308, 404, 410 or 429 is fresh, nothing is sent either. The
//     response has that status again, with an empty body.
//   - Otherwise the request is sent, with If-None-Match and If-Modified-Since
//     if the page is known. The server answers with a 304 or with the page.
//
// [Of] tells which of these a response is. robotsmw.PageDirectives answers for
// a 304 as for the page that it stands for, so a noindex is never lost.
//
// # Where it stands
//
// A Transport stands outside of the robots transport: what is fresh is neither
// judged nor paced, and all else is both. Without a robots transport in Base,
// only the header's directives for all robots are known.
//
// # With colly
//
// In a collector, Options.Wrap puts a Transport outside of the robots
// transport:
//
//	opts.Wrap = func(robots http.RoundTripper) http.RoundTripper {
//		return &revisit.Transport{Base: robots, Store: store}
//	}
//	ext, err := collyrobots.Attach(c, opts)
//
// An unchanged page then comes as colly treats a 304: to OnError, or to
// OnResponse if ParseHTTPErrorResponse is set. Ask for r.StatusCode there.
// Extension.Directives knows what the page says.
//
// # What is decided
//
//   - A page is known by its URL without the fragment, by its Host, and by the
//     request fields that Vary names (RFC 9111 §4.1). A request's Cookie counts
//     as if Vary named it. Only the last variant is known: with other values,
//     the page is asked for without validators. A page with "Vary: *" is not
//     remembered.
//   - The cache is private: s-maxage does not apply, and a page that is
//     "private" is remembered. An answer to a request with Authorization is
//     remembered, and given, only if it is "public" (RFC 9111 §3.5).
//   - Without Cache-Control and Expires, a page is asked for each time:
//     heuristic freshness (RFC 9111 §4.2.2) is off. A Date in the past counts
//     as age.
//   - A 304 renews what it names (RFC 9111 §4.3.4). Without Cache-Control and
//     Expires, the earlier lifetime begins anew. Its X-Robots-Tag is added to
//     what is known. A 304 with another validator than the known one is about
//     another version: nothing is Unchanged, and the next request asks for the
//     whole page.
//   - A 200 brings new validators. Without any, or with no-store, the old ones
//     are forgotten. A page that broke off, or whose metas are not known to
//     their end because the caller closed it early, is forgotten too.
//   - 404, 410, 301 and 308 forget the page. 429, 5xx, other statuses, errors
//     and refusals of a wall do not.
//   - 302, 303 and 307 are never answered here.
//   - A Last-Modified that is no older than a second when the page comes could
//     miss a change in that second (RFC 9110 §8.8.2.2). It is not used alone.
//   - HEAD, requests with a Range, with validators of their own, with a body,
//     or with "Cache-Control: no-store" pass untouched. A request with
//     "no-cache" is sent although the page is fresh.
//   - After a POST, PUT, PATCH or DELETE that succeeds, the next GET of that
//     URL is sent (RFC 9111 §4.4).
//   - If the clock was set back to before the last visit, nothing is fresh.
//   - Validators live in a Store for 30 days after the last visit at least.
package revisit
