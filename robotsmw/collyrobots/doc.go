// Package collyrobots makes a colly crawler that already runs obey robots.txt,
// keep a pace and act on nofollow, with one line:
//
//	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)"})
//
// Callbacks, storage, limits, proxies and queues go on working. Each host gets
// one request a second, one at a time (Options.Limiter changes that); its
// Crawl-delay and Retry-After are obeyed. A refused request comes to OnError,
// with a *robotsmw.DisallowedError that names the rule (see "Errors").
//
//	                      robots.txt  pace  nofollow  a refused URL stays unvisited
//	e.Request.Visit       yes         yes   yes       no
//	c.Visit, a queue      yes         yes   no        no
//	ext.Follow(e)         yes         yes   yes       yes
//	ext.Visit             yes         yes   no        yes
//	ext.AbsoluteURL       no          no    yes: ""   yes
//	a clone               yes         yes   no        no
//	a clone, ext.Add(it)  yes         yes   yes       no
//
// For c.Visit, write c.Visit(ext.AbsoluteURL(e.Request, href)). For a queue,
// see AbsoluteURL.
//
// Attach reads a few unexported fields of colly. It is tested with colly v2.3.0
// and the newest commit. If colly lacks a field on which a promise of this
// package depends, Attach returns an error that says what to write instead. If
// it lacks another one, Attach logs what is lost. After an error of Attach, the
// collector sends nothing, and all its requests fail with this error.
//
// # When a crawl seems to hang
//
// It waits for a host. A server may ask for an hour with Retry-After. After a
// robots.txt with a 503, a Retry waits for a minute, then longer. Each pause of
// a minute or more is logged at Info, with host, reason and end. All pages but
// the first of a host with a Crawl-delay of over a minute come to OnError with
// a *politeness.DelayError. Raise Limiter.MaxCrawlDelay, or set
// Extension.PutBack, which repeats each at its time. A slow host may hold all
// threads of a queue, unless you refuse long waits:
//
//	Limiter: &politeness.Limiter{MaxWait: 3 * time.Second} // in Options
//
//	ext.PutBack = true
//	for !q.IsEmpty() {
//		q.Run(c)
//		q.Stop()   // else colly's queue cannot Run again
//		ext.Wait() // makes what is put back; callbacks may call q.AddURL
//	}
//
// To stop, call q.Stop. When q.Run has returned, cancel Collector.Context and
// call ext.Wait: OnError gets what was put back. Processes that share a queue
// need a Limiter.Fleet (Example "Fleet"); others may add to an empty queue.
//
// # Errors
//
// OnError and Visit get the errors of an http.Client with a robotsmw.Transport,
// in a *url.Error. errors.Is and errors.AsType find in them
//
//	robotsmw.ErrDisallowed      a rule or an option forbids the URL
//	robotsmw.ErrUnreachable     robots.txt cannot be fetched: *net.DNSError, x509
//	                            errors and others, if the network is the reason
//	robotsmw.ErrAddressRefused  RefuseAddress refuses the address, and its error
//	*politeness.DelayError      the host is not due
//	context.Canceled            the collector's Context has ended
//	any other                   the error of the page itself, such as *net.OpError
//
// Each *robotsmw.DisallowedError is also colly.ErrRobotsTxtBlocked. A refused
// address is one if robots.txt had to be fetched first.
//
// As in plain colly, Response.Headers is nil in OnError if the server did not
// answer. It is empty if the extension refused the request, which was not sent.
//
// # Retries in OnError
//
//	if errors.Is(err, colly.ErrRobotsTxtBlocked) && !errors.Is(err, robotsmw.ErrUnreachable) {
//		return // a rule or RefuseAddress forbids it, and that is final
//	}
//	r.Request.Retry() // after a 5xx or no answer, after a pause, three times at most
//
// The Example "Retries" (example_test.go) counts the tries, and leaves out what
// PutBack heals. A response with 429 or 503 comes to OnError, and is repeated
// only if Extension.RetryThrottled is set. What the extension repeats comes to
// OnError too, but a Retry of it only returns the error, as does any Retry at
// once after a refusal; a later one waits. So repeat by Retry, not by a queue,
// unless Extension.WillRepeat returns true. c.Visit and c.Post return the first
// error.
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
//   - A page in CacheDir is served without a fetch of robots.txt, and refused
//     only if a robots.txt that is in memory has a rule that forbids it by now.
//   - The links of a nofollow page, or of a sure challenge, are refused. Their
//     URLs stay unvisited, so a link from another page can still lead there.
//   - Colly's MaxRequests counts a request that is refused, because colly
//     counts it before the extension can check it, and the count is its ID.
//     Extension.Visit and Follow check first, so their refusals do not count.
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
