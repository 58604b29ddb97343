// Package politeness paces requests so that no host is asked faster than it can
// bear.
//
//	client := &http.Client{Transport: &politeness.Transport{}}
//
// Requests to one host now start at least a second apart, one at a time,
// however many goroutines make them. A host that answers 429 or 503 with a
// Retry-After is left alone for that time. The fields of [Limiter] set the
// pace:
//
//	limiter := &politeness.Limiter{Delay: 5 * time.Second, MaxWait: time.Minute}
//	client := &http.Client{Transport: &politeness.Transport{Limiter: limiter}}
//
// One host may have another pace than all others. Its key is its name, in lower
// case and without a port: see [Limiter.PerHost].
//
//	perHost := map[string]politeness.HostSettings{"www.example.com": {Delay: 3 * time.Second}}
//	limiter.PerHost = func(key string) politeness.HostSettings { return perHost[key] }
//
// Without an http.Client, call [Limiter.Acquire] before each request and
// [Grant.Done] after it.
//
// # When a request may start
//
// Each host has a queue. Its first request starts when
//
//   - the interval after the latest start is over: Delay, the Crawl-delay or
//     the adaptive delay, whichever is longest, and Jitter;
//   - the host's pause and quota allow it;
//   - fewer than Concurrency requests to the host are in flight;
//   - the host's Budget is not spent;
//   - in a fleet, this Limiter owns the host;
//   - the Limiter Within and GlobalRate allow it.
//
// All spellings of a host are one host, whatever the port: see [HostKey].
//
// A request holds its slot to the end of its response's body, so close every
// body.
//
// # Deadlines
//
// A request whose wait would outlast its context's deadline or MaxWait is
// refused at once with a [*DelayError], which says when to come again. It uses
// up nothing, so ask other hosts first. http.Client.Timeout includes the wait,
// so leave it 0; [Transport].AttemptTimeout does not.
//
// # In your queue
//
// No worker should sleep. With a MaxWait of -1, a job is refused at once, and
// put back until [DelayError].Until. If several jobs are for one host, put each
// back for an interval longer than the one before, as the example InYourQueue
// does. examples/queues has workers for NATS JetStream, asynq and River. In
// others, use this:
//
//   - Temporal: NextRetryDelay of an ApplicationError.
//   - Kafka: [HostKey] as the key, and a queue for each host in the process.
//   - URLFrontier: BlockQueueUntil for Until, and SetDelay for a Crawl-delay.
//
// # Why did my request wait?
//
// A [Reason] says it, in a DelayError, to an [Observer] and to a [Trace].
//
// # A fleet
//
// With a [Limiter.Fleet] in each process, each host is owned by one Limiter at
// a time. Package redislimit makes Fleets.
//
// # Decisions
//
//   - The fetch of robots.txt, marked [Exempt], waits neither for a Crawl-delay
//     nor behind requests that wait for one. When both are due, fetches of
//     robots.txt and other requests take turns.
//   - A Crawl-delay, told by [WithCrawlDelay], is obeyed however long it is. If
//     it exceeds MaxCrawlDelay, requests are refused until it is over. Another
//     one, or none, is in force only for a host for which PerHost returns it,
//     because the host's owner has agreed.
//   - These pause a host: a Retry-After with 3xx or any status of 400 and
//     above; a 429; a 503 or a sure challenge or block, at first for one more
//     interval. See [Limiter.BackOff]. The statuses 430 and 529, which no
//     standard defines, count as 429 and 503.
//   - A spent quota pauses the host until it is renewed. What remains of a
//     quota is spread over its time. The fields are RateLimit, RateLimit-Policy
//     (draft-ietf-httpapi-ratelimit-headers-11, and earlier forms),
//     X-RateLimit-Remaining and the like.
//   - Such a field is malformed if its lines have more than 4 KiB together.
//   - When the Budget is spent, requests are refused until the UTC day is over.
//   - net/http sends a request again by itself if a server closed a connection
//     without an answer or refused an HTTP/2 stream. The Transport makes that
//     replay wait for the host.
//   - A request starts when its header is sent, so a slow dial does not make
//     two arrive together.
//   - A Limiter has no ticker and no goroutine. A host takes some 200
//     bytes.
package politeness
