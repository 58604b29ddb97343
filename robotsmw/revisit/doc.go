// Package revisit provides an HTTP cache for crawlers that stores no bodies: it
// requests a page again only if the page may have changed.
//
//	robots, err := robotsmw.NewTransport(opts)
//	...
//	client := &http.Client{Transport: &revisit.Transport{Base: robots}}
//	resp, err := client.Get("https://example.com/feed")
//	...
//	if visit, ok := revisit.Of(resp); ok && visit.Unchanged {
//		// The page has not changed since visit.Since. Its directives, such
//		// as noindex, are in visit.Directives.
//	}
//
// For each URL, a [Transport] stores the validators (ETag, Last-Modified), the
// freshness and the robots directives of the page. Because bodies are not
// stored, the caller should store the results of processing a page.
//
// # Responses
//
//   - While a page is fresh according to Cache-Control, Expires and Age, no
//     request is sent. The response is an empty 304 (Not Modified) that the
//     Transport generates. It is neither rate-limited nor checked against
//     robots.txt again.
//   - While a 301, 308, 404, 410 or 429 is fresh, no request is sent either.
//     The generated response has the same status and an empty body.
//   - Otherwise, a request is sent. If validators of the page are stored, the
//     request has If-None-Match or If-Modified-Since or both, and the server
//     may respond with 304.
//
// [Of] distinguishes these cases. For a 304, robotsmw.PageDirectives returns
// the directives of the stored page, so that a noindex is not lost.
//
// # Order of transports
//
// A Transport must be outside of the robots transport, so that only requests
// that are sent are rate-limited and checked. If Base is not a robots
// transport, only the directives in the header that apply to all robots are
// known.
//
// # Colly
//
// In a collector, Options.Wrap places a Transport outside of the robots
// transport:
//
//	opts.Wrap = func(robots http.RoundTripper) http.RoundTripper {
//		return &revisit.Transport{Base: robots, Store: store}
//	}
//	ext, err := collyrobots.Attach(c, opts)
//
// Colly passes a 304 to OnError, or to OnResponse if ParseHTTPErrorResponse is
// set, where r.StatusCode distinguishes it. Extension.Directives returns the
// directives of the page.
//
// # Details
//
//   - A page is identified by its URL without the fragment, its Host, and the
//     request fields listed in Vary (RFC 9111 §4.1), to which Cookie is always
//     added. Only the latest variant is stored. A page with "Vary: *" is not
//     stored.
//   - The cache is private: s-maxage is ignored, and a page with "private" is
//     stored. The response to a request with Authorization is stored and reused
//     only if it is "public" (RFC 9111 §3.5).
//   - There is no heuristic freshness (RFC 9111 §4.2.2): without Cache-Control
//     and Expires, a page is requested each time. A Date in the past counts as
//     age.
//   - A 304 updates the stored fields (RFC 9111 §4.3.4), and its X-Robots-Tag
//     is added to the directives. If it has neither Cache-Control nor Expires,
//     the previous lifetime starts again. If its validator differs from the
//     stored one, the 304 refers to another version: Unchanged is false, the
//     page is removed, and the next request is unconditional.
//   - A 200 replaces the page. It is not stored if it has no validators and is
//     not fresh, has no-store, is incomplete, or if its body was closed before
//     all of its meta elements were read.
//   - A 301, 308, 404 or 410 removes the page. Other statuses, errors and
//     bot-protection responses do not.
//   - 302, 303 and 307 responses are not stored.
//   - A Last-Modified that is less than a second before the response is not
//     used without an ETag, because it could miss a later change in the same
//     second (RFC 9110 §8.8.2.2).
//   - These requests are passed to Base unchanged: HEAD, and requests with
//     Range, validators, a body, or "Cache-Control: no-store". A request with
//     "no-cache" is sent even if the page is fresh.
//   - After a request with an unsafe method, such as POST or DELETE, has
//     received a 2xx or 3xx response, the next GET of the URL is sent (RFC 9111
//     §4.4).
//   - If the clock has been set back to before the latest request, pages are
//     not fresh.
//   - A Store keeps validators for at least 30 days after the latest request.
package revisit
