// Package politeness paces requests so that no host is asked faster than it can
// bear. No host slows down a crawl of the others.
//
// Put a [Transport] under an http.Client:
//
//	client := &http.Client{Transport: &politeness.Transport{}}
//
// Requests to one host now start at least a second apart, one at a time,
// however many goroutines make them. Hosts do not wait for each other. A host
// that answers 429 or 503 with a Retry-After is left alone for that time, up to
// 24 hours. The settings of the pace are fields of [Limiter]. The client above
// uses a zero Limiter.
//
// # When a request may start
//
// Each host has a queue, first come first served. Only the first request in the
// queue has a start time. So what the Limiter learns about the host applies to
// all requests that wait: none starts too early after a 429, and a request that
// gives up leaves no gap. The first request may start when
//
//   - the interval after the latest start is over. The interval is the greatest
//     of Delay, the host's Crawl-delay and the adaptive delay, lengthened by
//     Jitter;
//   - the host's pause is over (see Back-off);
//   - the host's quota allows another request (see Quotas);
//   - fewer than Concurrency requests to the host are in flight;
//   - the host's Budget is not spent;
//   - in a fleet, this Limiter owns the host;
//   - the Limiter Within and GlobalRate allow it.
//
// The interval counts from the start of the previous request or, with
// EndToStart, from its end. For the Transport, a request starts when its header
// is sent. If the host has an interval, no other request to it starts before
// the header is sent, whatever Concurrency says. So a slow dial does not make
// two requests arrive together. http.Transport reports through httptrace that
// the header is sent. If Base does not report this, a request starts when it is
// granted.
//
// # Hosts
//
// All spellings of a host are one host, whatever the port. Spellings may differ
// in letter case, in a final dot, and in letters that IDNA maps to the same
// name. An address may be written in several forms: an IPv6 address in full or
// shortened, an IPv4 address alone or within an IPv6 one. [HostKey] has the
// precise rules. A request to a host that is too long for a DNS name fails at
// once. If a request target is a whole URL (see Opaque in url.URL), its host
// must be the host of the request's URL or the host in the Host header.
// Otherwise the request fails.
//
// # Why did my request wait?
//
// A [Reason] is the answer: the interval ("delay", "adaptive delay",
// "crawl-delay"), a "back-off", a "rate limit", earlier requests in the
// "queue", a busy "slot", the "fleet", a spent "budget", or a limit on all
// hosts. The Reason is in the Granted, Refused and Cancelled events of an
// [Observer] and in a [DelayError]. While a request is waiting, the [Trace] in
// its context is told the Reason.
//
// With package robotsmw, the first request to an origin also waits for its
// robots.txt. The fetch of that file is a request of its own, and its events
// are marked Exempt.
//
// # Deadlines
//
// A wait can be long. A request whose wait would outlast the context's deadline
// is refused at once with a [*DelayError], which says when to come again. Such
// a request uses up no slot and no budget, so the crawler can ask other hosts
// first. If a back-off makes the wait of a queued request too long, that
// request is refused in the same way.
//
// http.Client.Timeout includes the wait, so do not set it. Transport has an
// AttemptTimeout instead, which begins after the wait. Limiter.MaxWait limits
// the wait:
//
//	client := &http.Client{Transport: &politeness.Transport{
//		AttemptTimeout: 10 * time.Second,
//		Limiter:        &politeness.Limiter{MaxWait: time.Minute},
//	}}
//
// A crawler with a queue for each host should not wait at all. [Limiter.Next]
// tells the crawler when a host is due, as the example of Next shows.
//
// # In your queue
//
// In a queue of jobs, no worker should sleep: with a MaxWait of -1, a job is
// refused at once, and put back until [DelayError].Until. Let each job come an
// interval later than the one of its host before, as the example InYourQueue
// does, or all of them come together and one can go. examples/queues has whole
// workers for NATS JetStream, asynq and River. In others, use this:
//
//   - Temporal: NextRetryDelay of an ApplicationError.
//   - Kafka: [HostKey] as the key, and a queue for each host in the process.
//   - URLFrontier: BlockQueueUntil for Until, and SetDelay for a Crawl-delay.
//
// # Replays
//
// net/http sends a request again by itself if the server closed a reused
// connection without an answer or refused an HTTP/2 stream. Such a replay keeps
// the pace too: the Transport stops the replay before anything is sent, and
// sends the request again when the host is due.
//
// # Slots
//
// A request holds its slot to the end of its response's body: until the body is
// read to EOF or closed, until the request fails, or until its context or
// AttemptTimeout ends. If AttemptTimeout is negative, the slot is freed after
// Limiter.Lease at the latest. An open body therefore delays its host. If
// nobody reads an open body that holds up a request, the log names the body's
// URL once.
//
// # Crawl-delay
//
// The Crawl-delay of robots.txt comes with the request's context, by
// [WithCrawlDelay]. Package robotsmw puts it there, so other layers may lie
// between robotsmw and the Limiter. A host with a Crawl-delay gets one request
// at a time. Even an absurd Crawl-delay is obeyed. If it is longer than
// MaxCrawlDelay, requests do not wait, but are refused with a DelayError until
// the Crawl-delay is over. ClampCrawlDelay, if set, cuts such a Crawl-delay to
// MaxCrawlDelay instead.
//
// The fetch of robots.txt itself, marked [Exempt], waits neither for a
// Crawl-delay nor behind requests that wait for one. Apart from that, requests
// to a host start in the order in which they came.
//
// # Back-off
//
// These pause a host:
//
//   - A Retry-After with 429, 503 or 3xx. The pause is as long as the field
//     says, up to MaxRetryAfter. The field has a number of seconds or a date
//     (RFC 9110 §10.2.3). A date is compared with the server's own clock.
//   - A 429 without a usable Retry-After. The pause is BackOff, and up to a
//     tenth longer at random. It doubles with each incident in a row, up to
//     MaxBackOff.
//   - A 503, or an answer that is surely a challenge, a captcha or a block (as
//     package refusal finds from status and header). The pause is one more
//     interval. The second such incident in a row counts as a 429, and so does
//     one that follows a 429. If the answer has a Retry-After, the pause is as
//     long as that field says.
//
// The first refusal begins an incident. A later refusal belongs to the same
// incident if its request started before the first refusal arrived. An answer
// is good if its status is below 500 and not 429, and if it is not surely a
// challenge, a captcha or a block. A good answer undoes one doubling. A 5xx
// that does not pause the host is neither good nor bad. One 503 among good
// answers costs only one more interval.
//
// # Quotas
//
// Some servers count requests, and say in each response how many more they
// accept. The fields are RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers-11, and the forms of its earlier
// versions), X-RateLimit-Remaining with X-RateLimit-Reset or -Reset-After, and
// X-Rate-Limit-Remaining. These fields can only slow requests down:
//
//   - A spent quota pauses the host until it is renewed, and one second more,
//     because most servers count in whole seconds.
//   - If some requests remain, they are spread over the time until the quota is
//     renewed. Requests in flight count as made.
//   - If RateLimit does not say how much of a policy's quota remains, the
//     policy in RateLimit-Policy is used: its quota is spread over its window.
//   - Some quotas count something other than requests, such as bytes. Such a
//     quota matters only when it is spent.
//   - Of several quotas the strictest counts. It holds until its time is over,
//     or until a later response tells a stricter one.
//   - If a Retry-After is obeyed, the quotas of its response are ignored.
//     MaxRetryAfter limits the times of quotas too.
//   - A malformed field is ignored, and so is one without a time. A field is
//     malformed if its lines have more than 4 KiB together, and so is a
//     Retry-After.
//   - A response from a cache tells what the quota was when the response was
//     made. The Age field says how long ago that was. If the quota has been
//     renewed since then, what the response says about it is ignored.
//
// A response with "X-RateLimit-Remaining: 0, 1500" and "X-RateLimit-Reset: 1,
// 1419704" tells two quotas, each with its time. An X-RateLimit-Reset below
// 1,000,000,000 is a number of seconds from now. A larger number is a time
// since 1970, in seconds or milliseconds. The value may also be a date. A time
// is compared with the server's own clock, which the Date field tells.
//
// # Budgets
//
// [Limiter.Budget] limits how many requests a host gets in a UTC day, and how
// many bytes of response bodies are read from it. When the Budget is spent,
// requests are refused with a [DelayError] that says when the day is over.
// Budget.Dir keeps the count across restarts and for all processes of a
// machine. A fleet keeps the count for its members.
//
// # Fetching by other means
//
// Without an http.Client, call [Limiter.Acquire] before each request and
// [Grant.Done] after it. Back-off, quotas and adaptive pace work from the
// [Outcome], as they do with the Transport.
//
// # A fleet
//
// If ten processes keep this pace, each for itself, a host is asked ten times
// as often as by one. With a [Limiter.Fleet] in each process, each host is
// owned by one Limiter at a time. That Limiter paces the host as if it were
// alone. Package redislimit makes Fleets in Redis or Valkey.
//
// # What it costs
//
// Acquire and Done take about 300 ns and one allocation. A host costs under 200
// bytes. It is forgotten some time after its interval is over, unless the
// Limiter has learnt something about it. A Limiter has no ticker and no
// goroutine of its own, except while it writes to Budget.Dir. A request that
// waits sleeps in its own call, and an idle Limiter does nothing.
//
// The pace of a host is computed from a few points in time. Package
// golang.org/x/time/rate cannot do this, because its reservations cannot be
// moved later. It serves only for GlobalRate, where one waiting request at a
// time holds a reservation.
package politeness
