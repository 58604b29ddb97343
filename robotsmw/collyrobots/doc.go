// Package collyrobots makes a colly crawler that already runs obey robots.txt,
// keep a pace and act on nofollow, with one line:
//
//	c := colly.NewCollector(…)
//	ext, err := collyrobots.Attach(c, robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//
// Clones obey too. But Clone drops callbacks, so what the extension does in
// callbacks (nofollow, OnBlocked) needs one more line for a clone:
//
//	detail := c.Clone()
//	err = ext.Add(detail)
//
// robots.txt is fetched through the collector's proxies too. Proxies are set in
// the usual ways, before Attach or after it, on clones and in callbacks:
//
//	c.SetProxyFunc(switcher) // or SetProxy, SetClient, WithTransport
//
// Callbacks, storage, limits, queues and clones go on working. If a request is
// refused, OnError gets an error for which errors.Is(err,
// colly.ErrRobotsTxtBlocked) is true. It is a *robotsmw.DisallowedError, which
// has the rule, its line and the URL of the robots.txt. After the crawl,
// ext.Counts() sums up: pages, refusals, waits, and requests that were lost.
//
// # What to delete, and what to write instead
//
//	c.IgnoreRobotsTxt = false        nothing: Attach switches colly's own check off, and does more
//	c.UserAgent = …                  Options.UserAgent; Attach sets it on the collector in place of colly's default
//	c.Limit(&colly.LimitRule{        Options.Limiter: &politeness.Limiter{
//	    DomainGlob: "*",                 // each host has a pace of its own
//	    Delay: 2 * time.Second,          Delay: 2 * time.Second,
//	    RandomDelay: time.Second,        Jitter: 0.5,
//	    Parallelism: 2,                  Concurrency: 2, // to one host
//	})                               }
//	c.SetRequestTimeout(d)           nothing, or Options.AttemptTimeout: d
//	sleeping in OnError after a 429  Extension.RetryThrottled = 3
//	looking for <meta name=robots>   Extension.Indexable; for nofollow, nothing
//	c.Visit(e.Request.AbsoluteURL(…  c.Visit(ext.AbsoluteURL(e.Request, …
//
// # What is set after Attach
//
// If a transport, proxy or client is set on the collector, the extension sends
// by it from then on. A clone, a clone of a clone or a callback may set it, at
// any time. What is set takes the place of Options.Base and Options.Proxy. If
// Base or Proxy was given, a warning is logged once. A client is copied and not
// changed, whether it is set before Attach or after. So Attach does not affect
// other code that uses the client.
//
// With Options.RefuseAddress, a transport that dials by itself cannot be used.
// If one is set, requests fail with ErrBypassed, Extension.Active is false, and
// the log says so once.
//
// SetRequestTimeout limits each attempt, from the end of its waits to the end
// of its body; a wait never counts. SetRequestTimeout(0) after Attach changes
// nothing: set Options.AttemptTimeout to -1 for no limit.
//
// A LimitRule may stay. A request then waits for the rule as well as for the
// Limiter. The extension enforces the rule in colly's place. So a request takes
// a slot of the rule when its host is due. It keeps the slot until the end of
// its body, and then for the rule's Delay. A redirect hop needs a slot of the
// rule for its own host.
//
// One gap is left: SetClient in an OnRequestHeaders handler of a clone that was
// not added. The request for which the handler is called uses that client
// directly, so it bypasses robots.txt and the pace. The next request obeys
// again. To avoid this, add the clone, or set the client in any other place.
// SetProxy, SetProxyFunc and WithTransport have the gap only if the client has
// no cookie jar (after DisableCookies, or if the client was set without a jar).
// With a jar, the extension notices these calls when the jar is asked. The
// extension cannot close the rest of the gap, because colly reads its client
// right after these handlers. Between the handlers and that moment, colly calls
// nothing that clones share. One remedy was rejected: to give the collector a
// Context that has ended. The extension's transport would then give each
// request another Context, and net/http would stop a request that does not pass
// this transport. But handlers that use the Context would stop too. A transport
// that is not from net/http may ignore the Context. And a clone may have a
// Context of its own.
//
// If one goroutine sets a transport, proxy or client while others have requests
// in flight, it races with them, as in plain colly. A request that starts at
// that moment may use the new client directly, past robots.txt. The same is
// true of Cookies and SetCookies. Make all these calls in a callback, or before
// the crawl.
//
// The extension does all this through a few unexported fields of colly, which
// are all listed in layout.go. Attach tests them, and fails with a version of
// colly that it does not know. The error says what to write instead. With these
// changes in colly the fields would not be needed, and the gap would be closed:
//
//   - getters for its client and its LimitRules;
//   - a SetTransport whose transport stays on top when a callback sets another
//     one;
//   - reading the client before OnRequestHeaders handlers are called, or
//     keeping these handlers in Clone.
//
// # What Attach changes
//
// On the collector:
//
//   - the client: colly gets a copy of it with the extension's transport and
//     cookie jar, and without a timeout. The jar wraps the old one, if there is
//     one, and is asked for each request;
//   - the LimitRules: the extension puts one of its own before them;
//   - IgnoreRobotsTxt, to true: if it is set to false again, colly checks
//     first, in its own way, and OnError is not called;
//   - UserAgent, if it is colly's default;
//   - MaxDepth, if it is 0, to a number that no crawl reaches.
//
// # What is refused, and how that looks
//
// robots.txt is obeyed in the transport, below all callbacks. So it applies to
// every method (also to the HEAD of CheckHead), to redirects, to Request.Retry,
// to queues, and to clones made before or after Attach.
//
// Pages in colly's cache directory are the exception: they never come to the
// transport. Their check is in OnRequest, before colly uses them. A clone does
// not have this callback, so call Extension.Add with a clone that has a
// CacheDir. Colly keeps a page that came by redirects under its first URL. The
// extension keeps the other URLs beside the page, in a file whose name ends in
// .redirects, and checks each of them. If that file is missing because the page
// was cached before Attach, only the first URL is checked.
//
// If a redirect leads to a refused URL, Response.Request.URL in OnError is
// where the redirects began, and the error's Decision.URL is what was refused.
// Response.Headers is never nil in OnError handlers registered after Attach.
//
// OnError may call Request.Retry to repeat a request that failed. If the
// request would be refused again, nothing is sent. OnError is called only once
// more, and Visit returns the error. (On a clone that was not added, OnError is
// called twice more, and then Request.URL has no scheme any more.) Real
// failures, such as a 503 or a reset, are repeated at the host's pace.
//
// A refused URL counts as visited, and as one of MaxRequests, because colly
// counts a URL before it asks the transport. Extension.Visit and
// Extension.Follow ask robots.txt first and leave a refused URL unvisited.
//
// # nofollow and noindex
//
// A page may say nofollow to everybody or to us, in its header or in HTML. The
// page is then moved to the collector's MaxDepth and stays there, so its links
// are too deep. Request.Visit and similar methods return colly.ErrMaxDepth for
// these links. Their URLs stay unvisited, so a link from another page can still
// lead there. Siblings of the page, later pages and values in Request.Ctx are
// not affected. Extension.Directives tells which pages say nofollow.
//
// This works for requests that are made from the page: by Request.Visit, Post,
// New and all other methods that pass the page's Ctx on. It does not work for
// c.Visit(e.Request.AbsoluteURL(link)) or for a URL from a queue, because colly
// does not know from which page these come. The extension cannot refuse such a
// request either. It sees the request only after colly has marked the URL as
// visited. If it then refused the request, links from other pages could not
// lead to the URL either. For such links, call Extension.Follow(e), or write
// ext.AbsoluteURL(e.Request, link), which is "" for a link that must not be
// followed. OnResponse handlers that were registered before Attach run before
// the extension has looked at the page's HTML.
//
// Some people read rel="nofollow" on a link as a hint about ranking. Others
// read it as a wish that nobody follows the link. Extension.ObeyRelNoFollow
// decides.
//
// noindex does not concern links. Extension.Indexable tells, in OnResponse or
// OnScraped, whether a page may be kept.
//
// # Refusals
//
// Some walls answer with status 202, and colly treats their challenge as a
// page. Extension.Directives then returns a robotsmw.Page whose Refusal is set.
// If the answer is surely a refusal, Indexable returns false. No link in the
// answer is followed, as if the answer said nofollow. Other walls answer with
// an error status, and OnError gets the response: call Directives there. A
// refusal alone does not make the extension repeat the request. A price, a
// licence or legal reasons are final: do not Retry.
//
// # Pace
//
// Without Options.Limiter, each host gets one request a second, and one at a
// time. Its Crawl-delay, 429, 503 and Retry-After are obeyed. Each host has its
// own pace, so an asynchronous collector crawls a thousand hosts at once. All
// collectors of the process that are attached without a Limiter share one. So a
// host has one pace among them. Collectors with different Limiters do not share
// a pace: give them the same Limiter, or add one collector to the Extension of
// the other with Extension.Add.
//
// An OnResponseHeaders or redirect handler may visit another page of the same
// host, although its own request still has the host's slot. The handler gets
// that page at the host's pace. For this, the extension reads the body of the
// handler's own response into memory, up to 16 MiB. That frees the slot. If
// that body is longer, the slot becomes free only when the handler's own
// request times out.
//
// In a queue with few threads, a request that waits for its host holds a
// thread, and one slow host can hold all of them. To avoid that, let the
// Limiter refuse requests that would have to wait. Let the extension put them
// back until their host is due:
//
//	ext, err := collyrobots.Attach(c, robotsmw.Options{
//		UserAgent: …,
//		Limiter:   &politeness.Limiter{MaxWait: -1},
//	})
//	ext.PutBack = true
//	q.Run(c)
//	ext.Wait() // the queue does not know which requests were put back
//
// Requests that were put back run on goroutines of their own, one for each
// host. Limiter.GlobalConcurrency bounds them. These requests are submitted
// with Request.Retry. If they were added to the queue again, colly would treat
// their URLs as visited. Each Retry counts for MaxRequests again. OnError is
// called each time that a request is refused. When the collector's Context
// ends, the requests that still wait fail at once.
//
// RetryThrottled repeats requests that were answered 429 or 503, when the
// Retry-After is over. OnError is called for each such answer. With PutBack, a
// repeat holds no thread while it waits. A synchronous Visit returns the error
// of the first answer, even if a repeat succeeds.
package collyrobots
