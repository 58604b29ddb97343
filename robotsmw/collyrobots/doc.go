// Package collyrobots makes a colly crawler that already runs obey robots.txt,
// keep a pace and act on nofollow, with one line:
//
//	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)"})
//
// Callbacks, storage, limits, proxies and queues go on working. Each host gets
// one request a second, one at a time (Options.Limiter changes that); its
// Crawl-delay and Retry-After are obeyed. A refused request comes to OnError,
// with a *robotsmw.DisallowedError that names the rule.
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
// For c.Visit and a queue, write c.Visit(ext.AbsoluteURL(e.Request, href)), or
// the same with q.AddURL.
//
// Attach reads a few unexported fields of colly (see layout.go). It is tested
// with colly v2.3.0, and in .ci/colly-suite with the newest commit. With a
// version that has other fields, Attach returns an error that says what to
// write instead.
//
// # When a crawl seems to hang
//
// It waits for a host. A server may ask for an hour with Retry-After. Each
// pause of over a minute is logged at Info, with host, reason and end. A host
// whose Crawl-delay is longer is not waited for: all its pages but the first
// come to OnError with a *politeness.DelayError. Raise Limiter.MaxCrawlDelay,
// or set Extension.PutBack: each is then repeated at its time. A slow host may
// hold all threads of a queue. To avoid that, refuse what would have to wait:
//
//	Limiter: &politeness.Limiter{MaxWait: -1} // in Options
//
//	ext.PutBack = true
//	for !q.IsEmpty() {
//		q.Run(c)
//		q.Stop()   // else colly's queue cannot Run again
//		ext.Wait() // makes what is put back, a login too; it may add URLs with q.AddURL
//	}
//
// # Retries in OnError
//
//	if errors.Is(err, colly.ErrRobotsTxtBlocked) && !errors.Is(err, robotsmw.ErrUnreachable) {
//		return // a rule says no, and that is final
//	}
//	time.Sleep(time.Second); r.Request.Retry() // as often as you like
//
// A Retry at once after a refusal returns the refusal. A later one waits until
// the time that the error names. For 429 and 503, set RetryThrottled instead.
//
// # Proxies, clients and timeouts
//
// Set them before Attach or after it. SetProxy changes the proxy alone, also
// for robots.txt. A client is copied and not changed; what changes on it later
// takes effect. SetRequestTimeout limits each attempt; a wait never counts.
//
// # Decisions
//
//   - Enforcement is in the transport: it applies to every method (also to the
//     HEAD of CheckHead), to redirects, to Request.Retry, to queues, and to
//     clones made before or after Attach.
//   - If a transport, proxy or client is set, the extension sends by it from
//     then on. A clone, a clone of a clone or a callback may set it, at any
//     time, also after Collector.Init.
//   - A rule's refusal is final. If the request would be refused again, nothing
//     is sent.
//   - The links of a nofollow page, or of a sure challenge, are refused. Their
//     URLs stay unvisited, so a link from another page can still lead there.
//   - Attach sets IgnoreRobotsTxt, to true; a copy of the client; a LimitRule
//     before the program's; and UserAgent, if it is colly's.
//
// Open: a client that OnRequestHeaders of a clone sets, if the clone was not
// added, sends that one request past the extension; so does a transport set
// there without a cookie jar, and a clone made after Init, until its collector
// has made a request. Setting a client during requests is a race, as in plain
// colly.
package collyrobots
