// Package gate makes a robots transport and its Limiter available over HTTP, so
// that browsers, and crawlers in other languages, share robots.txt decisions
// and delays with a Go program.
//
//	h, err := gate.New(robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//	...
//	err = http.ListenAndServe("127.0.0.1:8500", h)
//
// # Requests
//
//   - GET /check?url=U: may U be fetched? The response is 200 with JSON in any
//     case: {"allowed":false,"reason":"rule","rule":"/private","line":3,
//     "robots_url":"…","crawl_delay":2}. Members that do not apply are omitted.
//     until is the time at which the client should retry: when U's host is due
//     or, if robots.txt is unreachable, when it is fetched again. A URL that a
//     rule disallows has no until. If robots.txt is unreachable, error contains
//     the cause.
//   - GET /check?url=U&wait=1 responds when the client may send its request to
//     U's host, and adds an id. The slot of the host is held until the client
//     has called /done, or for Limiter.Lease, after which the id is invalid.
//     Without an id in the response, the client must not send its request, and
//     should retry at until.
//   - POST /done?id=ID&status=200 releases the slot (204; 404 if no slot has
//     this id). status is the status of the response that the client received,
//     and retry_after its Retry-After in seconds. They delay later requests to
//     the host as they would in Go.
//   - GET /fetch?url=U fetches U, and returns its status, header and body.
//     Redirects are returned too, so that the client checks each hop. A client
//     that follows them itself, such as curl -L or Python's urlopen, bypasses
//     the gate. If U was not fetched, the response has the JSON of /check and
//     the header Courtesy-Verdict, which no page has: 451 for a disallowed URL,
//     503 with Retry-After while robots.txt is unreachable or the host is not
//     due, and 502 if the request failed. The header Courtesy-Decision contains
//     the decision with its line of robots.txt.
//
// The status is 400 for an invalid URL, 404 for any other path, and 405 for a
// wrong method.
//
// # Access
//
// A client on a loopback address has access, unless its request seems to come
// from a page in a browser or through a proxy (X-Forwarded-For, Forwarded), or
// its Host is not loopback (DNS rebinding). Behind a reverse proxy that adds
// none of these fields, all clients appear to be loopback clients, so such a
// proxy should require a token itself. Any other client must send the header
// "Authorization: Bearer <Token>". All requests without this header get the
// same 401 response.
//
// The sites that a gate can reach are limited: if neither Options.Base nor
// Options.RefuseAddress is set, connections to addresses that are not public
// are rejected (robotsmw.PublicOnly), so neither a redirect nor a change of the
// DNS leads into a private network. Through a proxy, only the proxy's address
// is checked (see Options.RefuseAddress).
//
// # Limits
//
// No header of a client is sent to a site, and no hop-by-hop and Access-Control
// fields of a site are sent to a client. /check does not wait if the wait would
// exceed five minutes. The wait and the page of /fetch together may take five
// minutes and Options.AttemptTimeout. At most 1,000 slots are held and 1,000
// requests processed at a time; others get 503. If a body is larger than
// Handler.MaxBody, the connection is aborted after that many bytes. If a client
// disconnects before it has received the response, its slot is released.
package gate
