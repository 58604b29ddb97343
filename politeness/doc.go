// Package politeness limits how fast a client sends requests to each host.
//
//	client := &http.Client{Transport: &politeness.Transport{}}
//
// With this client, requests to one host start at least one second apart, one
// at a time, from any number of goroutines. If the host answers 429 or 503 with
// a Retry-After field, no request to it starts before that time is over. The
// response itself is returned to the caller, and is not retried. The fields of
// [Limiter] configure the delays:
//
//	limiter := &politeness.Limiter{Delay: 5 * time.Second, MaxWait: time.Minute}
//	client := &http.Client{Transport: &politeness.Transport{Limiter: limiter}}
//
// [Limiter.PerHost] returns other settings for single hosts. The key of a host
// is its name, in lower case and without a port. Subdomains are other hosts,
// unless Limiter.Key is [DomainKey].
//
//	perHost := map[string]politeness.HostSettings{"slow.example.com": {Delay: 3 * time.Second}}
//	limiter.PerHost = func(key string) politeness.HostSettings { return perHost[key] }
//
// A longer Crawl-delay still applies. To replace it, set
// [HostSettings].CrawlDelay too.
//
// A program without an http.Client calls [Limiter.Acquire] before each request
// and [Grant.Done] after it.
//
// # When a request may start
//
// Each host has a queue. Its first request starts when
//
//   - the interval since the latest start has passed: Delay, the Crawl-delay or
//     the adaptive delay, whichever is longest, and Jitter;
//   - the host's pause and quota allow it;
//   - fewer than Concurrency requests to the host are in flight;
//   - the host's Budget is not spent;
//   - in a fleet, this Limiter owns the host;
//   - the Limiter Within and GlobalRate allow it.
//
// All spellings of a host's name are one host, and so are all its ports: see
// [HostKey].
//
// A request holds its slot until its response's body has been read to its end
// or closed. A fetch of robots.txt, marked with [Exempt], holds it until the
// body is closed. Callers must close every body.
//
// # Deadlines
//
// If a request would have to wait beyond its context's deadline or beyond
// MaxWait, it fails immediately with a [*DelayError], whose Until is when to
// retry. Such a request uses up no slot, interval or budget. The Timeout of an
// http.Client includes the wait and should be 0; the AttemptTimeout of a
// [Transport] does not include it.
//
// If an http.Client follows a redirect (the request's Response is set), the
// request may wait longer than MaxWait, by the longest interval that it may
// have to keep: Delay, MaxCrawlDelay, the intervals of PerHost, 60 s with
// Adaptive, or the Delay of a Within, with Jitter. Otherwise the interval after
// the redirect would make each retry fail.
//
// # Job queues
//
// Workers of a job queue should not block while a host is not due. With a
// MaxWait of -1, a request to such a host fails immediately, and the worker
// returns the job to the queue until [DelayError].Until. If there are several
// jobs for one host, each should be delayed by one interval more than the one
// before it; see the example InYourQueue. examples/queues has workers for NATS
// JetStream, asynq and River. For other queues:
//
//   - Temporal: NextRetryDelay of an ApplicationError.
//   - Kafka: [HostKey] as the key, and a queue for each host in the process.
//   - URLFrontier: BlockQueueUntil for Until, and SetDelay for a Crawl-delay.
//
// # Why a request waited
//
// A DelayError, an [Observer] and a [Trace] contain a [Reason].
//
// # Fleets
//
// If the Limiter of each process has a [Limiter.Fleet], each host is owned by
// one Limiter at a time. Package redislimit provides Fleets. If another Limiter
// waits for a host, its owner gives the host away when it has owned it for 2 s,
// or soon after its last request to the host is over. If it has not started a
// request yet, it may start one first. If the host's Concurrency is 1, or with
// EndToStart, a request in flight ends first. All members should have the same
// fields, and PerHost should return the same settings in each.
//
// # Two limits at once
//
// [Limiter.Within] is for a machine that serves many hosts:
//
//	limiter := &politeness.Limiter{Within: &politeness.Limiter{Key: politeness.IPKey(nil)}}
//
// To limit only the number of requests in flight to all hosts, give Within a
// Key that is the same for all URLs, a Delay of -1, and a Concurrency.
//
// # Decisions
//
//   - A fetch of robots.txt, marked with [Exempt], does not wait for a
//     Crawl-delay. When it and another request are both due, they take turns.
//     While other requests wait, due or not, fetches get no more time than
//     these: see [Exempt].
//   - A Crawl-delay, passed by [WithCrawlDelay], is obeyed however long it is.
//     If it exceeds MaxCrawlDelay, requests fail until it is over. A host can
//     have another Crawl-delay, or none, only by PerHost, because its owner has
//     agreed.
//   - These responses pause a host: a 3xx or any status of 400 and above with a
//     Retry-After; a 429; a 503 or a sure response of bot protection, at first
//     for one more interval. See [Limiter.BackOff]. The statuses 430 and 529,
//     which no standard defines, count as 429 and 503.
//   - A spent quota pauses the host until the quota is renewed. What remains of
//     a quota is spread over the time until then. The fields are RateLimit,
//     RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11, and earlier
//     forms), X-RateLimit-Remaining and the like. Such a field, as well as
//     Retry-After, is malformed if its lines have more than 4 KiB together.
//   - A pause for a Retry-After or a quota ends after MaxRetryAfter at the
//     latest.
//   - If Done is not called, another request that needs the slot gets it after
//     [Limiter.Lease]. A Transport frees the slot after its AttemptTimeout, or
//     leaves it to Lease if AttemptTimeout is negative.
//   - When the Budget is spent, requests fail until the end of the UTC day.
//   - net/http sends a request again if a server closed a connection without a
//     response or refused an HTTP/2 stream. The Transport makes that replay
//     wait for the host.
//   - A request starts when its header is sent, so that a slow dial does not
//     make two requests arrive together.
//   - A Limiter has no ticker and no goroutine. A host takes about 200 bytes.
package politeness

// The files, in the order in which a request needs them:
//
//	transport.go     waits for the host, makes the request, and makes it again instead of net/http
//	proxy.go         the host that a request reaches through a proxy, and
//	                 that of a request target in absolute form
//	acquire.go       Acquire: the deadline, the wait and its end; Next
//	context.go       what a request's context contains: Crawl-delay, Trace, check
//	grant.go         a request at one Limiter, and its states
//	host.go          the host of a request, when PerHost is called for it, and
//	                 settings that change while requests wait
//	chain.go         Within and GlobalRate: a request that several Limiters must let start;
//	                 how a request joins and leaves the queue of each
//	readiness.go     what the first request of a lane waits for, at one Limiter;
//	                 the warning about an open body
//	globalrate.go    the tokens of GlobalRate
//	slot.go          takes and frees slots, also when a lease expires (for
//	                 leases see Expire in schedule/inflight.go)
//	wakeup.go        who checks again when something has changed
//	attempt.go       a request from its start to the end of its response's body
//	wire.go          what net/http does with a request: when it is sent, and replays
//	outcome.go       what the end of a request or its response means for the host
//	budget.go        what is left of a host's Budget
//	fleet.go         what a Limiter requires of its Fleet; checkIdle, also
//	                 without one: whether a host is still needed
//	fleetclaim.go    what the Fleet reports to its Limiter
//
// For a client without an http.RoundTripper, the method Admit of the Transport
// of package robotsmw (robotsmw/admission.go) calls Acquire.
//
// Their settings are in limiter.go, perhost.go, defaults.go and key.go.
// What they return and report is in errors.go, reason.go, observer.go and
// events.go.
//
// The rules for a single host are in internal/schedule, whose doc.go has a list
// of its files. Eight rules are in several places:
//
//   - Deadlines: setDeadline (acquire.go) sets them, from MaxWait too.
//     Host.missesDeadline (schedule/forecast.go) finds a request that would
//     start too late, and firstReadiness (readiness.go) one whose token of
//     GlobalRate would come too late. try (chain.go) rejects a request whose
//     MaxWait is over, finishWait (acquire.go) one whose context's deadline
//     passes during the wait, and waitUnlessRejected (acquire.go) one whose
//     deadline had passed before the call.
//   - The Budget: Budgets (schedule/budget.go) counts. waitUnlessRejected
//     (acquire.go) and join (chain.go) reject a request before it joins a
//     queue. budgetReadiness (readiness.go) rejects the first of a lane, or
//     reserves more in a fleet.
//   - Retry-After: headers/read.go reads it and applies MaxRetryAfter.
//     learnFrom (outcome.go) passes it to ApplyOutcome (schedule/backoff.go),
//     which pauses the host.
//   - Quotas: headers/read.go reads them and computes pause and interval.
//     learnFrom passes them to applyQuota (schedule/quota.go).
//   - Redirects: RoundTrip (transport.go) sets afterRedirect, and setDeadline
//     (acquire.go) lets the request wait for longestInterval more. For a
//     robots.txt that another host redirects to, see ExemptInTurn (context.go).
//   - Retries: ExpectRetry (schedule/ownership.go) keeps a host of a fleet for
//     a request that was rejected. try, join and leave (chain.go) and visit
//     (wakeup.go) call it.
//   - A request that gives up: reject and canceled (acquire.go) make its error.
//     leave (chain.go) removes it from the queue of each stage, by dequeue
//     (wakeup.go), and giveBack (globalrate.go) cancels its reservation of a
//     token.
//   - The start: start (slot.go) takes a slot. setOnItsWay (wire.go) lets
//     the intervals count from the time when the header is sent.
