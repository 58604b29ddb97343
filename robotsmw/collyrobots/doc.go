// Package collyrobots makes a colly crawler obey robots.txt and nofollow, and
// limits its request rate per host. An existing crawler needs one more line:
//
//	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)"})
//
// Callbacks, storage, limits, proxies and queues continue to work. Unless
// Options.Limiter is set, each host receives at most one request per second,
// and one at a time. The Crawl-delay in a robots.txt and the Retry-After of a
// response are obeyed. A request that robots.txt disallows is not sent.
// Instead, OnError receives a *robotsmw.DisallowedError, which contains the
// rule (see "Errors").
//
// The way in which a page is requested determines what is obeyed, and whether
// colly counts a URL that was refused as visited:
//
//	                      robots.txt  delay  nofollow  a disallowed URL stays unvisited
//	e.Request.Visit       yes         yes    yes       no
//	c.Visit, c.Request    yes         yes    no        no
//	a queue               yes         yes    no        no
//	ext.Follow(e)         yes         yes    yes       yes
//	ext.Visit             yes         yes    no        yes
//	ext.AbsoluteURL       no          no     yes: ""   yes
//	a clone               yes         yes    no        no
//	a clone, ext.Add(it)  yes         yes    yes       no
//
// To obey nofollow with c.Visit, c.Request or a queue, pass the result of
// Extension.AbsoluteURL, as its documentation shows.
//
// Attach uses some unexported fields of colly. It is tested with colly v2.3.0
// and with the later commit 20d31482af5f. If another version lacks a field that
// the checks of this package depend on, Attach returns an error that describes
// what to do instead. If it lacks any other field, Attach logs which features
// do not work. After an error of Attach, the collector sends no requests,
// because all of them fail with that error, unless the collector already has an
// Extension.
//
// # When a crawl seems to hang
//
// A crawl that seems to hang is waiting for a host. A server may request a
// pause of an hour with Retry-After. While robots.txt is unreachable (503, 429,
// no network), a Retry waits for a minute at first, and longer after each
// failure. Each pause of a minute or more is logged at level Info, with the
// host, the reason and the end.
//
// If a host has a Crawl-delay of more than Limiter.MaxCrawlDelay, which is a
// minute by default, then all requests to the host except the first fail with a
// *politeness.DelayError. Raise MaxCrawlDelay, or set Extension.PutBack, which
// repeats each of them when the host is due.
//
// Requests that wait for a slow host may occupy all threads of a queue. To
// prevent this, let requests fail instead of waiting for long, and let the
// extension repeat them:
//
//	Limiter: &politeness.Limiter{MaxWait: 3 * time.Second} // in Options
//
//	ext.PutBack = true
//	for !q.IsEmpty() {
//		q.Run(c)
//		q.Stop()   // otherwise colly's queue cannot Run again
//		ext.Wait() // requests what was put back; callbacks may q.AddURL
//	}
//
// Each attempt counts toward MaxRequests, so that a small MaxRequests may end
// such a crawl before many pages are fetched: see Extension.PutBack.
//
// To end such a crawl early, call q.Stop. When q.Run has returned, cancel
// Collector.Context and call ext.Wait, so that OnError receives the requests
// that were put back. Processes that share a queue should also share a
// Limiter.Fleet (Example "Fleet"). An empty queue is then not the end of the
// crawl, because another process may still add to the queue.
//
// # A collector per job
//
// A program with many jobs, each with a context of its own, should call Attach
// once and add a collector for each job:
//
//	c := colly.NewCollector(colly.StdlibContext(ctx), colly.Async())
//	err := ext.Add(c)
//	...
//	c.Wait() // for the pages of this job
//
// In a job, use Collector.Visit or Follow, because Extension.Visit uses the
// collector that was passed to Attach. OnBlocked and Counts cover all jobs.
//
// A job that reports why each of its URLs was not fetched should record the
// responses and the latest error of each URL separately and, after Wait, report
// the errors of the URLs without a response. If the extension repeats a request
// (see WillRepeat), an error is not final, OnError may receive it after the
// repeat has succeeded, and OnError is not called again if MaxRequests ends the
// repeats.
//
// The jobs share robots.txt files, connections and request rates. If instead
// each job calls Attach, with the same Limiter, errors.As finds the network
// error of an unreachable robots.txt only in the job that sent the failed
// request. In other jobs, the error contains only the text of the network
// error.
//
// Jobs that call Attach and share no robots.txt (see Attach), because each has
// a transport, a proxy or RefuseAddress, fetch every robots.txt again. If a
// robots.txt returns 503 or 429, the fetch of each job is an attempt that
// doubles the back-off of the host, so that the Visit of the next job waits
// twice as long, up to Limiter.MaxBackOff, an hour by default. Give such jobs a
// deadline, or set Limiter.MaxWait. With RefuseAddress, each job also has its
// own idle connections until the IdleConnTimeout of the transport has passed.
//
// Extension.Wait waits for all jobs. If the collectors are synchronous and
// PutBack is set, there is no way to wait for one job only, and the callbacks
// of a job may be called by the goroutine of another job, for a request that
// was put back. An asynchronous collector has neither problem. When the context
// of a job is canceled, its requests that were put back fail immediately: on a
// synchronous collector, OnError is called for them in Wait, or for one of them
// in each Visit.
//
// # Errors
//
// OnError and Visit receive the errors of an http.Client with a
// robotsmw.Transport, in a *url.Error. errors.Is and errors.AsType find in them
//
//	robotsmw.ErrDisallowed      a rule or an option disallows the URL
//	robotsmw.ErrUnreachable     robots.txt is unreachable. If the network is the
//	                            reason: *net.DNSError, x509 errors and others
//	robotsmw.ErrAddressRefused  RefuseAddress refused the address. errors.Is also
//	                            finds the error of RefuseAddress
//	*politeness.DelayError      the host is not due
//	collyrobots.ErrBypassed     the extension could not have checked the request
//	context.Canceled            the collector's Context was canceled
//	context.DeadlineExceeded    any *politeness.DelayError, or the deadline of
//	                            the collector's Context or the time for an
//	                            attempt is over. Whether a job is over is known
//	                            from its Context
//	any other                   the error of the page itself, such as *net.OpError
//
// As in plain colly, OnError also receives these errors, which a Retry should
// not repeat:
//
//	*colly.AlreadyVisitedError     a redirect leads to a visited URL, or to one
//	                               to which an earlier redirect was refused
//	colly.ErrForbiddenDomain       a redirect leads to a domain that is not allowed
//	colly.ErrForbiddenURL          a DisallowedURLFilter matches the target of a redirect
//	colly.ErrNoURLFiltersMatch     no URLFilter matches the target of a redirect
//	colly.ErrAbortedBeforeRequest  an OnRequestHeaders handler aborted the request
//	colly.ErrAbortedAfterHeaders   an OnResponseHeaders handler aborted the request
//
// If one of the first four applies to the URL that is visited and not to a
// redirect, Visit returns it and OnError is not called.
//
// Each *robotsmw.DisallowedError is also colly.ErrRobotsTxtBlocked. The error
// of a refused address is a DisallowedError if robots.txt had to be fetched
// from that address first.
//
// As in plain colly, Response.Headers is nil in OnError if the server did not
// respond. If the extension refused the request, so that it was not sent,
// Headers is empty but not nil.
//
// # Retries in OnError
//
//	if c.Context.Err() != nil {
//		return // the job is over
//	}
//	if errors.Is(err, colly.ErrRobotsTxtBlocked) && !errors.Is(err, robotsmw.ErrUnreachable) {
//		return // a rule or RefuseAddress forbids it, and that is final
//	}
//	_, isVisited := errors.AsType[*colly.AlreadyVisitedError](err)
//	isAborted := errors.Is(err, colly.ErrAbortedBeforeRequest) || errors.Is(err, colly.ErrAbortedAfterHeaders)
//	isForbidden := errors.Is(err, colly.ErrForbiddenDomain) || errors.Is(err, colly.ErrForbiddenURL)
//	if isVisited || isAborted || isForbidden || errors.Is(err, colly.ErrNoURLFiltersMatch) {
//		return // colly or a handler of the program refused the request
//	}
//	if _, ok := errors.AsType[*politeness.DelayError](err); ok {
//		return // the host is not due: with PutBack, the extension repeats the request
//	}
//	// Offline, return here for all errors.
//	hasAnswered := r.StatusCode != 0 && r.StatusCode < 500 // colly calls OnError for each status from 203
//	if hasAnswered && r.StatusCode != http.StatusProxyAuthRequired {
//		return // a Retry would get the same response; a 407 is from one proxy
//	}
//	if ext.WillRepeat(r.Request) {
//		return // the extension repeats the request
//	}
//	key := "tries of " + r.Request.URL.String()
//	tries, _ := r.Ctx.GetAny(key).(int)
//	if tries == 3 {
//		return
//	}
//	r.Ctx.Put(key, tries+1)
//	time.Sleep(time.Second) // at least 100 ms
//	if err := r.Request.Retry(); err != nil {
//		// On an asynchronous collector, the page will not be requested. On a
//		// synchronous one, OnError may have received this error already.
//		log.Print(err)
//	}
//
// The pause is needed because a Retry within 100 ms of a refusal, such as an
// ErrUnreachable, sends no request and only returns the error of the refusal. A
// later Retry waits for the time at which the request could be sent, or returns
// the error immediately if the deadline of the collector's Context is before
// that time. Therefore programs should repeat a request with Retry and not with
// a queue.
//
// With Limiter.MaxWait or a Crawl-delay above MaxCrawlDelay, all requests that
// wait for a host have the same time, and only one of them is sent then, so
// that most of them would use up their tries. PutBack sends them one after
// another.
//
// On a synchronous collector, Retry also returns the error of the repeat, which
// OnError has already received. For 429 and 503, set Extension.RetryThrottled.
// The Example "Retries" is a whole program.
//
// If a URL is refused three times in a row, each time within 100 ms of the
// previous one, the third and each further refusal returns only after
// Limiter.Delay, and after at least 100 ms. This slows down a program that
// requests the URL in a loop.
//
// Offline, such as when pages are processed again from CacheDir, do not Retry
// an ErrUnreachable: each Retry waits for the next attempt to fetch robots.txt,
// at first for a minute and later for up to an hour. Set a transport that fails
// immediately, because a network that drops packets blocks the first request to
// each origin for Options.RobotsTimeout. Leave RetryThrottled 0, because it
// removes each stored 429 from CacheDir before it requests the page again, and
// PutBack false, because it waits for hosts that are not due.
//
// OnError also receives the failures of requests that the extension repeats.
// Extension.WillRepeat reports whether it does. A Retry of such a request only
// returns its error. Collector.Visit and Post return the error of the first
// attempt.
//
// A program that records URLs as seen before it visits them should use
// Extension.Visit or Follow, and remove a URL for which the error is an
// ErrUnreachable or a *politeness.DelayError: it was not fetched, and can be
// visited later.
//
// # Proxies, clients and timeouts
//
// A proxy, a client, a transport or a timeout may be set at any time: on the
// collector or on a clone, in a callback, or after Collector.Init. On an
// asynchronous collector, however, setting one while requests are under way is
// a data race, as in plain colly. Such a program should set a proxy function,
// which chooses a proxy for each request, before the first request. SetProxy
// and SetProxyFunc change only the proxy of the transport, including the proxy
// for robots.txt, and disable keep-alives, as in plain colly. The extension
// uses a copy of a client. It does not change the original, but applies later
// changes of the original to the copy. SetRequestTimeout limits each attempt,
// excluding the time for which the request waits. It does not limit the fetch
// of robots.txt: set Options.RobotsTimeout for that. Collector.Init does not
// remove the transport: it is used until another one is set.
//
// A robots.txt is fetched through the proxies of the collector that was passed
// to Attach, also for collectors that were added with a proxy of their own. If
// the robots.txt for a job should be fetched through the proxy of the job, call
// Attach for each job, with the same Limiter. What the jobs then no longer
// share is in "A collector per job".
//
// If the proxy of the first request to a site fails, the robots.txt of the site
// is unreachable for a minute, for all proxies, and for twice as long after
// each further failure. A proxy function should skip proxies that fail, and
// OnError should Retry, which waits for the next fetch. The error identifies
// the proxy that failed for a robots.txt only if the connection to the proxy
// could not be established. Otherwise, the proxy function must record its
// choices by URL. For an ErrUnreachable, look up Decision.RobotsURL of the
// *robotsmw.DisallowedError and not Request.URL, which after a redirect may
// belong to another site. A 429 is not a failure of the proxy.
//
// A status from 400 to 499 that a proxy itself returns for a robots.txt, such
// as a 403 for a site that the proxy blocks, looks like the response of the
// site, unless it is 407, 429 or 430, or has a Proxy-Status or X-Squid-Error
// header. It means that the site has no robots.txt, so that everything is
// allowed, for up to 24 hours and through all proxies. With a proxy that may
// return such statuses, check it first, or set Options.DisallowForbidden, which
// covers 401 and 403.
//
// As in plain colly, Request.ProxyURL is set only if the proxy function stores
// the proxy in the context of the request under colly.ProxyURLKey, as that of
// proxy.RoundRobinProxySwitcher does. With SetProxy, it is empty. In plain
// colly, it is also empty if the collector has a request timeout.
//
// # LimitRules
//
// The Delay of a colly.LimitRule and the Delay of Options.Limiter are not added
// to each other. Both must have passed before the next request starts. The
// Limiter's Delay counts from the start of a request to the same host. The
// Delay and RandomDelay of a LimitRule count from the end of a response, in
// each of its Parallelism slots, and a rule with the DomainGlob "*" applies to
// all hosts together. A program that needs only a delay per host should set the
// Delay of the Limiter and no LimitRule.
//
// # Decisions
//
//   - All methods are checked, including the HEAD of CheckHead, and so are
//     redirects, Retry, and clones made before or after Attach.
//   - Colly calls the OnRequest and OnRequestHeaders handlers before the
//     extension checks a request, so also for a request that is then refused.
//     A page is fetched only if OnResponse or OnError receives its response.
//   - With CheckHead, Visit of a synchronous collector returns when its HEAD
//     fails. If the extension repeats that HEAD, because of PutBack or
//     RetryThrottled, it also sends the GET. It does the same for a HEAD that
//     the program sends with Collector.Request, because colly makes it by the
//     same call as the HEAD of Visit. To send only a HEAD, use Collector.Head.
//   - A page in CacheDir is served without a fetch of robots.txt. It is refused
//     only if a robots.txt in memory disallows it; files that are only in a
//     Store are not consulted. Options.Override applies without a robots.txt.
//     If cached pages should obey the current rules of their sites, call
//     ext.Checker().Check for one URL of each origin first. Colly stores a
//     page under the URL before the redirects, so only that URL is checked, and
//     the relative links of the stored page are resolved against that URL.
//     Offline, a link that is not in the directory fails with an ErrUnreachable
//     or, if the robots.txt is in memory or in a Store, with the network error,
//     after it has waited for the delay and the Crawl-delay of its host. To
//     avoid that wait, set Limiter.Delay to -1, and CrawlDelay to -1 in
//     Limiter.PerHost. Retry neither error: see "Retries in OnError".
//   - Colly stores each response to a GET with a status below 500 in CacheDir,
//     and returns it for each Retry and in later runs. This includes the 407 or
//     403 of a proxy: use no CacheDir with a proxy that may return these. It
//     also includes a 429 after a redirect, and without RetryThrottled every
//     429.
//   - Extension.Visit and Follow check first, so they need robots.txt for a
//     page in CacheDir too, while Collector.Visit does not.
//   - The links of a nofollow page, or of a response that is certainly from bot
//     protection, are refused. Their URLs stay unvisited, so that they can
//     still be visited from another page. This includes the links of a page
//     with an error status, which an OnError handler may visit. A response is
//     certainly from bot protection if Directives returns a Refusal that is
//     Sure, which includes every 429, 430 and 451 unless a rule of
//     Options.Refusals overrides that.
//   - Colly's MaxRequests counts a request that is refused, because colly
//     counts a request before the extension can check it. Extension.Visit and
//     Follow check first, so a URL that they refuse is not counted.
//   - Attach sets IgnoreRobotsTxt to true, so that colly does not also fetch
//     robots.txt. It replaces the client with a copy and adds a LimitRule. It
//     sets UserAgent to Options.UserAgent if it has colly's default value.
//
// # What the extension cannot prevent
//
// If a program sets a transport while requests are under way, a request that is
// just being sent goes through the extension or fails with ErrBypassed. There
// are two exceptions, which the extension cannot prevent:
//
//   - A transport that ignores the context of its request sends the request.
//     The transports of net/http respect the context.
//   - A request of a clone that was not added may be sent without a check. This
//     is very unlikely if another goroutine sets the transport. It is certain
//     if an OnRequestHeaders handler of the clone sets a client, or sets a
//     transport while the collector has no cookie jar.
//
// A clone that was made after Collector.Init bypasses the extension until the
// collector that it was cloned from has made a request.
package collyrobots
