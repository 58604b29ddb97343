// Package collyrobots makes an existing colly crawler obey robots.txt, delay
// its requests to each host and act on nofollow, with one line:
//
//	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)"})
//
// Callbacks, storage, limits, proxies and queues continue to work. Each host
// gets one request per second, one at a time (Options.Limiter changes that).
// Its Crawl-delay and Retry-After are obeyed. The OnError handlers receive the
// error of a disallowed request: a *robotsmw.DisallowedError that contains the
// rule (see "Errors").
//
//	                      robots.txt  delay  nofollow  a disallowed URL stays unvisited
//	e.Request.Visit       yes         yes    yes       no
//	c.Visit, a queue      yes         yes    no        no
//	ext.Follow(e)         yes         yes    yes       yes
//	ext.Visit             yes         yes    no        yes
//	ext.AbsoluteURL       no          no     yes: ""   yes
//	a clone               yes         yes    no        no
//	a clone, ext.Add(it)  yes         yes    yes       no
//
// For c.Visit, write c.Visit(ext.AbsoluteURL(e.Request, href)). For a queue,
// see AbsoluteURL.
//
// Attach reads a few unexported fields of colly. It is tested with colly v2.3.0
// and the newest commit. If colly lacks a field on which a promise of this
// package depends, Attach returns an error that includes what to write instead.
// If it lacks another field, Attach logs what does not work. After an error of
// Attach, the collector sends no request, and all its requests fail with this
// error.
//
// # When a crawl seems to hang
//
// A crawl that seems to hang waits for a host: a Retry-After may be an hour
// long. After a robots.txt with a 503, a Retry waits for a minute, then longer.
// Each pause of a minute or more is logged at Info, with host, reason and end.
// If a host has a Crawl-delay of over a minute, all its pages but the first
// fail with a *politeness.DelayError, unless Limiter.MaxCrawlDelay is raised or
// Extension.PutBack is set, which repeats each request at its time. A slow host
// may occupy all threads of a queue, unless long waits fail:
//
//	Limiter: &politeness.Limiter{MaxWait: 3 * time.Second} // in Options
//
//	ext.PutBack = true
//	for !q.IsEmpty() {
//		q.Run(c)
//		q.Stop()   // else colly's queue cannot Run again
//		ext.Wait() // makes the requests that are put back; callbacks may call q.AddURL
//	}
//
// To stop, call q.Stop. When q.Run has returned, cancel Collector.Context and
// call ext.Wait: the requests that were put back then fail. Processes that
// share a queue need a Limiter.Fleet (Example "Fleet"); others may add to an
// empty queue.
//
// # Errors
//
// OnError and Visit receive the errors of an http.Client with a
// robotsmw.Transport, in a *url.Error. errors.Is and errors.AsType find in them
//
//	robotsmw.ErrDisallowed      a rule or an option forbids the URL
//	robotsmw.ErrUnreachable     robots.txt cannot be fetched: *net.DNSError, x509
//	                            errors and others, if the network is the reason
//	robotsmw.ErrAddressRefused  RefuseAddress refuses the address, and its error
//	*politeness.DelayError      the host is not due
//	context.Canceled            the collector's Context has ended
//	any other                   the error of the page itself, such as *net.OpError
//
// Each *robotsmw.DisallowedError is also colly.ErrRobotsTxtBlocked. The error
// of a refused address is a DisallowedError if robots.txt had to be fetched
// first.
//
// As in plain colly, Response.Headers is nil in OnError if the server did not
// respond. It is empty if the extension did not send the request.
//
// # Retries in OnError
//
//	if errors.Is(err, colly.ErrRobotsTxtBlocked) && !errors.Is(err, robotsmw.ErrUnreachable) {
//		return // a rule or RefuseAddress forbids it, and that is final
//	}
//	r.Request.Retry() // after a 5xx or no answer, after a pause, three times at most
//
// The Example "Retries" (example_test.go) counts the tries, and leaves out what
// PutBack heals. A response with 429 or 503 is passed to OnError, and its
// request is repeated only if Extension.RetryThrottled is set. OnError handlers
// receive the errors of requests that the extension repeats too, but a Retry of
// such a request only returns the error. So does a Retry immediately after a
// request that was not sent; a later Retry waits. Programs should repeat by
// Retry and not by a queue, unless Extension.WillRepeat returns true. c.Visit
// and c.Post return the first error.
//
// A program that marks URLs as seen before it visits them should use
// Extension.Visit or Follow, and unmark a URL for which the error is an
// ErrUnreachable or a *politeness.DelayError: it was not fetched, and can be
// visited later.
//
// # Proxies, clients and timeouts
//
// Set them at any time, also on a clone, in a callback or after Collector.Init.
// SetProxy and SetProxyFunc change the proxy alone, also for robots.txt. A
// client is copied and not changed; what changes on it later takes effect.
// SetRequestTimeout limits each attempt; a wait never counts.
//
// # LimitRules
//
// The Delay of a colly.LimitRule and the Delay of Options.Limiter are not added
// to each other. Both must be over before the next request starts, so the
// longer one decides. The Limiter's Delay counts from the start of a request to
// the same host. The Delay and RandomDelay of a LimitRule count from the end of
// a response, in each of its Parallelism slots, and a rule with the DomainGlob
// "*" applies to all hosts together. A program that needs only a delay per host
// should set the Limiter's, and no LimitRule.
//
// # Decisions
//
//   - It checks each method (also the HEAD of CheckHead), redirects, Retry, and
//     clones made before or after Attach.
//   - A page in CacheDir is served without a fetch of robots.txt, and is
//     disallowed only if a robots.txt in memory has a rule that disallows it.
//   - The links of a nofollow page, or of a sure challenge, are not followed.
//     Their URLs stay unvisited, so a link from another page can lead there.
//   - Colly's MaxRequests counts a disallowed request, because colly counts it
//     before the extension can check it, and the count is its ID.
//     Extension.Visit and Follow check first, so they count only what is sent.
//   - Attach sets IgnoreRobotsTxt, to true; a copy of the client; one more
//     LimitRule; and UserAgent, if it is colly's.
//
// # What the extension cannot prevent
//
// A program may set a transport while requests are under way. Then a request
// that is just being sent goes through the extension or fails with ErrBypassed.
// There are exceptions, because colly has no way to prevent them:
//
//   - A transport that ignores the context of its request sends the request.
//     Those of net/http do not.
//   - The requests of a clone that was not added may be sent. The chance is
//     tiny if several goroutines are the reason. It is certain if the clone's
//     OnRequestHeaders sets a client, or sets a transport while the collector
//     has no cookie jar.
//
// Also, a clone that was made after Collector.Init bypasses the extension until
// its collector has made a request.
package collyrobots
