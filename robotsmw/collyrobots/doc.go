// Package collyrobots makes a colly crawler that already runs obey robots.txt,
// keep a pace and act on nofollow, with one line:
//
//	c := colly.NewCollector(…)
//	ext, err := collyrobots.Attach(c, robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//
// Callbacks, storage, limits, queues and clones go on working. What is refused
// comes to OnError with an error for which errors.Is(err,
// colly.ErrRobotsTxtBlocked) holds and which is a *robotsmw.DisallowedError: it
// knows the rule, its line and the robots.txt.
//
// # What to delete, and what to write instead
//
//	c.IgnoreRobotsTxt = false        nothing: Attach switches colly's own check off, and does more
//	c.UserAgent = …                  Options.UserAgent; Attach sets the collector's where it is colly's default
//	c.Limit(&colly.LimitRule{        Options.Limiter: &politeness.Limiter{
//	    DomainGlob: "*",                 // each host has a pace of its own
//	    Delay: 2 * time.Second,          Delay: 2 * time.Second,
//	    RandomDelay: time.Second,        Jitter: 0.5,
//	    Parallelism: 2,                  Concurrency: 2, // to one host
//	})                               }
//	c.SetRequestTimeout(d)           nothing, if it stands before Attach; else Options.AttemptTimeout: d
//	c.SetProxy(p), SetProxyFunc(f)   Options.Proxy: http.ProxyURL(p), or f
//	c.WithTransport(t)               Options.Base: t
//	c.SetClient(client)              Options.Base: client.Transport
//	sleeping in OnError after a 429  Extension.RetryThrottled = 3
//	looking for <meta name=robots>   Extension.Indexable, or nothing: nofollow is obeyed without a word
//
// A LimitRule may stay; a request then needs both. It holds a slot of its rule
// while it waits for the Limiter.
//
// Attach refuses to replace a transport that the collector already has, unless
// Options has a Base or a Proxy. It cannot stop a later SetProxy, SetProxyFunc,
// SetClient or WithTransport from replacing its own: the next request then
// fails with ErrBypassed and is not sent, and Extension.Active is false.
//
// # What Attach changes
//
// On the collector:
//
//   - the transport; of the client that was given to SetClient, if it was
//     called;
//   - the request timeout, to none, because it would count the time spent
//     waiting for a host. The same time is given to each attempt instead
//     (Options.AttemptTimeout). A SetRequestTimeout after Attach counts the
//     wait again, and requests that would have to wait longer fail with a
//     *politeness.DelayError;
//   - IgnoreRobotsTxt, to true: set to false again, colly checks first, in its
//     own way, and OnError is not told;
//   - UserAgent, where it is colly's;
//   - MaxDepth, where it is 0, to a number that no crawl reaches.
//
// # What is refused, and how that looks
//
// robots.txt is obeyed in the transport, below all callbacks. So it holds for
// every method, CheckHead's HEAD included, for redirects, for Request.Retry, in
// queues, and on clones made before or after. Only a page in colly's cache
// directory never comes to the transport. It is judged before it is used, in
// OnRequest: call Extension.Add with a clone that has a CacheDir.
//
// When a redirect leads to a refused URL, Response.Request.URL in OnError is
// where it began, and the error's Decision.URL what was refused. Headers is
// never nil in OnError handlers registered after Attach.
//
// A refused URL counts as visited, and for MaxRequests, because colly has
// decided so before it asks the transport. Extension.Visit and Extension.Follow
// ask robots.txt first and leave it unvisited.
//
// # nofollow and noindex
//
// A page that says nofollow, to everybody or to us, in its header or in HTML,
// is moved to the collector's MaxDepth for the rest of its life: its links are
// too deep. So Request.Visit and the like return colly.ErrMaxDepth for them,
// and they stay unvisited: another page that links there too leads there.
// Neither siblings nor later pages are touched, and values in Request.Ctx are
// where they were. Extension.Directives tells which pages these are.
//
// This works for what is visited from the page: Request.Visit, Post, New and
// what else hands its Ctx on. To colly, c.Visit(e.Request.AbsoluteURL(link)) is
// a URL from nowhere, and so is what comes out of a queue. There, write
// Extension.Follow(e), or look at Extension.Directives first. OnResponse
// handlers that were registered before Attach run before the page's HTML has
// been looked at.
//
// rel="nofollow" on a link is a hint about ranking to some and a wish to
// others: Extension.ObeyRelNoFollow decides.
//
// noindex does not concern links. Extension.Indexable tells, in OnResponse or
// OnScraped, whether a page may be kept.
//
// # Refusals
//
// Some walls answer with status 202, and colly takes their challenge for a
// page. Extension.Directives tells it, as robotsmw.Page.Refusal; Indexable says
// no; and no link of what is surely a refusal is followed, as if it said
// nofollow. Others answer with an error status, and OnError gets the response:
// ask Directives there. Nothing is asked again for it, and a price, a licence
// or legal reasons are final: do not Retry.
//
// # Pace
//
// Without Options.Limiter each host is asked for one thing a second and one at
// a time, and its Crawl-delay, 429, 503 and Retry-After are obeyed. Each host
// has its own pace, so an asynchronous collector crawls a thousand hosts at
// once.
//
// In a queue of few threads a request that waits for its host holds a thread,
// and one slow host can hold all. Let the Limiter refuse to wait, and the
// extension put back what is refused until its host is due:
//
//	ext, err := collyrobots.Attach(c, robotsmw.Options{
//		UserAgent: …,
//		Limiter:   &politeness.Limiter{MaxWait: -1},
//	})
//	ext.PutBack = true
//	q.Run(c)
//	ext.Wait() // the queue does not know of what was put back
//
// What was put back runs on a goroutine of its own, one for each host;
// Limiter.GlobalConcurrency bounds them. It is submitted with Request.Retry,
// since colly would take a URL that is added to the queue again for visited; so
// it counts for MaxRequests again. OnError is called each time. When the
// collector's Context ends, what is put back fails at once.
//
// RetryThrottled repeats pages that answer 429 or 503 when their Retry-After is
// over, and OnError is called each time; with PutBack it holds no thread
// meanwhile. A synchronous Visit returns the first answer's error all the same.
package collyrobots
