// Package collyrobots makes a colly crawler that already runs obey robots.txt,
// keep a pace and act on nofollow, with one line:
//
//	c := colly.NewCollector(…)
//	ext, err := collyrobots.Attach(c, robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//
// Clones obey too. What the extension does in callbacks (nofollow, OnBlocked)
// comes to a clone with one more line, because Clone drops callbacks:
//
//	detail := c.Clone()
//	err = ext.Add(detail)
//
// Proxies are set as ever, before Attach or after, on clones and in callbacks;
// robots.txt goes by them too:
//
//	c.SetProxyFunc(switcher) // or SetProxy, SetClient, WithTransport
//
// Callbacks, storage, limits, queues and clones go on working. What is refused
// comes to OnError with an error for which errors.Is(err,
// colly.ErrRobotsTxtBlocked) holds and which is a *robotsmw.DisallowedError: it
// knows the rule, its line and the robots.txt. After the crawl, ext.Counts()
// says what became of it: pages, refusals, waits, what was lost.
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
//	c.SetRequestTimeout(d)           nothing, or Options.AttemptTimeout: d
//	sleeping in OnError after a 429  Extension.RetryThrottled = 3
//	looking for <meta name=robots>   Extension.Indexable, or nothing: nofollow is obeyed without a word
//	c.Visit(e.Request.AbsoluteURL(…  c.Visit(ext.AbsoluteURL(e.Request, …
//
// # What is set after Attach
//
// A transport, proxy or client that is set on the collector becomes what the
// extension sends by, whoever sets it and when: a clone, a clone of a clone, a
// callback. It takes the place of Options.Base, and that is logged once. A
// client is copied and not changed, whether it is set before Attach or after,
// so that who else uses it does not obey our robots.txt.
//
// One kind cannot be taken: with Options.RefuseAddress, a transport that dials
// by itself. Requests then fail with ErrBypassed, Extension.Active is false,
// and the log says so once.
//
// SetRequestTimeout limits each attempt, from after its waits to its body's
// end; a wait never counts. 0 after Attach changes nothing: write
// Options.AttemptTimeout: -1.
//
// A LimitRule may stay, and a request then needs both. The extension obeys it
// in place of colly, so that a request has its slot from when its host is due
// to the end of its body, and Delay goes by without anybody waiting for it who
// does not need the slot. A redirect hop needs a slot of its own host's rule.
//
// One gap is left: SetClient in an OnRequestHeaders handler of a clone that was
// not added. The request that the handler is called for goes by that client
// alone, past robots.txt and the pace. The next request obeys again. Add the
// clone, or set the client anywhere else. SetProxy, SetProxyFunc and
// WithTransport have the gap only where the client has no cookie jar (after
// DisableCookies, or if the client was set without one), because the extension
// sees them through the jar. It cannot close the rest: colly reads its client
// right after these handlers, and asks nothing in between that clones share. A
// Collector.Context that has ended, until the extension replaces it, would stop
// such a request in net/http. But it would also stop whatever handlers use that
// Context for, transports that are not net/http's do not look at it, and a
// clone may have a Context of its own.
//
// What one goroutine sets while others have requests under way races with them,
// as it does in plain colly: a request that starts at that moment may go by the
// new client as it is, past robots.txt. The same holds for Cookies and
// SetCookies. Set it in a callback, or before the crawl.
//
// All this is done through a few unexported fields of colly (layout.go has them
// all). Attach tries them out, and fails with a version of colly that it does
// not know; the error says what to write there. These changes in colly would
// make it unnecessary, and close the gap:
//
//   - getters for its client and its LimitRules;
//   - a SetTransport for what is to stay above whatever callbacks set;
//   - the client read before OnRequestHeaders handlers are called, or handlers
//     that Clone keeps.
//
// # What Attach changes
//
// On the collector:
//
//   - the client: colly gets a copy of it with the extension's transport and
//     cookie jar (which is the old one, and asked for each request) and without
//     a timeout;
//   - the LimitRules, which begin with one of the extension's;
//   - IgnoreRobotsTxt, to true: set to false again, colly checks first, in its
//     own way, and OnError is not told;
//   - UserAgent, where it is colly's;
//   - MaxDepth, where it is 0, to a number that no crawl reaches.
//
// # What is refused, and how that looks
//
// robots.txt is obeyed in the transport, below all callbacks. So it holds for
// every method, CheckHead's HEAD included, for redirects, for Request.Retry, in
// queues, and on clones made before or after.
//
// Only a page in colly's cache directory never comes to the transport. It is
// judged before it is used, in OnRequest: call Extension.Add with a clone that
// has a CacheDir. Colly keeps a page that came by redirects under the first
// URL. The extension keeps the others beside it, in a file that ends in
// .redirects, and judges by each. Pages that were cached without it are judged
// by the first URL alone.
//
// When a redirect leads to a refused URL, Response.Request.URL in OnError is
// where it began, and the error's Decision.URL what was refused. Headers is
// never nil in OnError handlers registered after Attach.
//
// OnError may repeat what failed with Request.Retry. A refusal that would be
// the same again is not tried again: nothing is sent, the second call of
// OnError is the last (on a clone that was not added the third, and its
// Request.URL has no scheme any more), and Visit returns the error. What failed
// for real, such as a 503 or a reset, is repeated, at the host's pace.
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
// a URL from nowhere, and so is what comes out of a queue: by the time the
// extension sees the request, colly has marked its URL as visited, and another
// page's link to it would be lost with it. There, write
// ext.AbsoluteURL(e.Request, link), which is "" for a link that is not to be
// followed, or Extension.Follow(e). OnResponse handlers that were registered
// before Attach run before the page's HTML has been looked at.
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
// once. All collectors of the process that are attached without a Limiter share
// one, so that a host has one pace among them. Those with Limiters of their own
// do not: give them the same Limiter, or put one collector's Extension on the
// other with Extension.Add.
//
// A handler that visits another page of the same host while it holds the host's
// slot itself, in OnResponseHeaders or a redirect handler, gets it at the
// host's pace: the body that colly has not read yet is read into memory
// meanwhile, up to 16 MiB. After a longer one it comes when the attempt's time
// is over.
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
