// Package gate lets browsers, and crawlers in other languages, share one
// verdict and one pace with a Go program. It puts a robots transport and its
// Limiter behind HTTP.
//
//	h, err := gate.New(robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//	...
//	err = http.ListenAndServe("127.0.0.1:8500", h)
//
// # Requests
//
//   - GET /check?url=U reports whether U may be fetched. The response is 200
//     and JSON, whatever the verdict: {"allowed":false,"reason":"rule",
//     "rule":"/private","line":3,"robots_url":"…","crawl_delay":2}. Members
//     that do not apply are left out. The time in until is when the client
//     should retry: when U's host is due, or when robots.txt is fetched again
//     if it is unreachable. A URL that a rule disallows has none. If robots.txt
//     is unreachable, error contains the cause.
//   - GET /check?url=U&wait=1 waits until the client may send a request to U's
//     host itself, and adds an id. The host's slot is held until the client is
//     done, or for Limiter.Lease; then it is free again, and the id is invalid.
//     If there is no id, the client must not send the request.
//   - POST /done?id=ID&status=200 frees the slot (204; 404 if no slot has this
//     id). The status is that of the response that the client received, and
//     retry_after is its Retry-After in seconds. They can pause the host, as in
//     a Limiter.
//   - GET /fetch?url=U fetches U, and passes its status, header and body on. A
//     redirect is passed on too, so that the client requests each hop from the
//     gate. A client that follows it by itself, as curl -L and Python's urlopen
//     do, bypasses the gate. A URL that may not be fetched has the JSON of
//     /check: 451 for a rule, 503 with Retry-After while robots.txt is
//     unreachable or the host is not due. If the fetch of the page fails, the
//     status is 502. These responses have the header Courtesy-Verdict, which no
//     page has. The header Courtesy-Decision contains the deciding line.
//
// A bad URL is 400, another path 404, another method 405.
//
// # Authorization
//
// A client on a loopback address is authorized, unless its request seems to
// come from a page in a browser or through a proxy (X-Forwarded-For,
// Forwarded), or has a Host that is not loopback (DNS rebinding). All clients
// of a reverse proxy on the same machine that sends none of these headers are
// authorized, so the proxy should require a token itself. Any other client
// needs the header "Authorization: Bearer <Token>". Without it, each gets the
// same 401.
//
// The sites a gate can reach are limited, too: if neither Options.Base nor
// Options.RefuseAddress is set, it refuses addresses that are not public
// (robotsmw.PublicOnly), at each connection, so that neither a redirect nor a
// change of the DNS leads into a private network. Through a proxy, only the
// proxy's address is checked (see Options.RefuseAddress).
//
// # Limits
//
// No header of a client goes to a site, and none of a site's hop-by-hop and
// Access-Control fields to a client. /check refuses a wait of more than five
// minutes as soon as it is known. For /fetch, wait and page together may take
// five minutes and Options.AttemptTimeout. At most 1,000 slots are held, and
// 1,000 requests are under way; more are 503. A body is cut at Handler.MaxBody,
// and then the connection is aborted. If a client goes away before it has its
// answer, its slot is freed.
package gate
