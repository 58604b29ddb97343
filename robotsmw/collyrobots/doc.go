// Package collyrobots makes a colly crawler that already runs obey robots.txt,
// keep a pace and act on nofollow, with one line:
//
//	c := colly.NewCollector(…)
//	ext, err := collyrobots.Attach(c, robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
//	})
//
// Callbacks, storage, limits, proxies and queues go on working. Each host gets
// one request a second, one at a time; its Crawl-delay and Retry-After are
// obeyed. Options.Limiter changes the pace. A refused request comes to OnError,
// with a *robotsmw.DisallowedError that names the rule and its line. After the
// crawl, ext.Counts() sums up.
//
// Attach reads and writes a few unexported fields of colly, which layout.go
// lists. It is tested with colly v2.3.0, and in .ci/colly-suite with the newest
// commit that can be had. With a version that has other fields, Attach returns
// an error that says what to write instead.
//
// Which call obeys what:
//
//	                      robots.txt  pace  nofollow  a refused URL stays unvisited
//	e.Request.Visit       yes         yes   yes       no
//	c.Visit               yes         yes   no        no
//	ext.Follow(e)         yes         yes   yes       yes
//	ext.Visit             yes         yes   no        yes
//	ext.AbsoluteURL       no          no    yes: ""   yes
//	a queue               yes         yes   no        no
//	a clone               yes         yes   no        no
//	a clone, ext.Add(it)  yes         yes   yes       no
//
// For c.Visit and a queue, colly does not know from which page a link comes. So
// write c.Visit(ext.AbsoluteURL(e.Request, href)), or the same with q.AddURL.
//
// # Retries in OnError
//
//	if errors.Is(err, colly.ErrRobotsTxtBlocked) && !errors.Is(err, robotsmw.ErrUnreachable) {
//		return // a rule says no, and that is final
//	}
//	time.Sleep(time.Second); r.Request.Retry() // as often as you like
//
// A Retry that comes at once after a refusal returns the refusal. A later one
// waits until the time that the error names. In place of sleeping after a 429,
// set Extension.RetryThrottled.
//
// # Proxies, clients and timeouts
//
// Set them before Attach or after it, on clones and in callbacks. SetProxy and
// SetProxyFunc change the proxy alone, also for robots.txt: the program's
// transport keeps its TLS settings, its dialer and its timeouts. A client is
// copied and not changed; what the program changes on it later takes effect.
// SetRequestTimeout limits each attempt, and a wait never counts.
//
// # When a crawl seems to hang
//
// It waits for a host. A server may ask for an hour with Retry-After. A wait of
// over a minute is logged at Info, once for each pause, with the host, the
// reason and the end. A host whose Crawl-delay is over a minute is not waited
// for: all its pages but the first come to OnError with a
// *politeness.DelayError. Limiter.MaxCrawlDelay raises that minute. Or set
// Extension.PutBack, and the extension repeats each of them at its time.
//
// In a queue with few threads, one slow host can hold all threads. To avoid
// that, let the Limiter refuse requests that would wait, and put them back:
//
//	ext, err := collyrobots.Attach(c, robotsmw.Options{
//		UserAgent: …,
//		Limiter:   &politeness.Limiter{MaxWait: -1},
//	})
//	ext.PutBack = true
//	for !q.IsEmpty() {
//		q.Run(c)
//		q.Stop()   // else colly's queue cannot Run again
//		ext.Wait() // makes what is still put back; it may add URLs with q.AddURL
//	}
//
// What is put back also returns its DelayError: after a login, call ext.Wait.
//
// # What to delete
//
//	c.IgnoreRobotsTxt = false   nothing: Attach switches colly's check off, and does more
//	c.UserAgent = …             Options.UserAgent
//	c.Limit(&colly.LimitRule{   Options.Limiter: &politeness.Limiter{Delay: …, Jitter: …, Concurrency: …},
//	                            which counts for each host; a rule may stay, and is obeyed as well
//
// # Decisions
//
//   - Enforcement is in the transport: it applies to every method (also to the
//     HEAD of CheckHead), to redirects, to Request.Retry, to queues, and to
//     clones made before or after Attach.
//   - If a transport, proxy or client is set, the extension sends by it from
//     then on. A clone, a clone of a clone or a callback may set it, at any
//     time. After Collector.Init too, requests pass the extension.
//   - With Options.RefuseAddress, a transport that dials by itself is refused
//     with ErrBypassed.
//   - A rule's refusal is final. If the request would be refused again, nothing
//     is sent. The mark of a failed request is its Body, which wraps its own.
//   - A URL that is refused for the third time, each less than 100 ms after the
//     time before, waits a turn of its host. So no loop spins, also on clones
//     that were not added.
//   - The links of a page that says nofollow are refused by Visit, Post and
//     New. Their URLs stay unvisited, so a link from another page can still
//     lead there. A sure challenge or block counts as such a page.
//   - rel="nofollow" is a hint, unless Extension.ObeyRelNoFollow is set.
//   - Collectors with equal options and the same Limiter (or none) share
//     robots.txt, unless one has a Base, Store, Proxy or transport of its own.
//   - Callbacks of a synchronous collector never run at the same time. What was
//     put back is made before another request, or in Extension.Wait.
//   - A page in colly's cache directory is judged by the URL that it is kept
//     under, on collectors that were attached or added. It takes no slot.
//   - An OnResponseHeaders or redirect handler may visit its own host: its own
//     body is then read ahead, up to 16 MiB, which frees the slot.
//   - Attach sets IgnoreRobotsTxt, to true; a copy of the client; a LimitRule
//     before the program's; and UserAgent, if it is colly's default.
//
// What stays open: a client that an OnRequestHeaders handler of a clone sets,
// if the clone was not added, sends that one request past the extension. So
// does a transport or proxy that is set there, if the client has no cookie jar.
// The same holds for clones of a collector after its Init, until it has made a
// request itself. To set a client while other goroutines have requests in
// flight is a race, as in plain colly.
package collyrobots
