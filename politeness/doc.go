// Package politeness paces requests so that no host is asked faster than it can
// bear, and a crawl of many hosts is not slowed down by any of them.
//
// Put a [Transport] under an http.Client:
//
//	client := &http.Client{Transport: &politeness.Transport{}}
//
// Requests to one host now start a second apart, one at a time, however many
// goroutines make them. Hosts do not wait for each other. A host that answers
// 429 or 503 is left alone for as long as it asks. All settings are fields of
// [Limiter]; the client above uses its zero value.
//
// # When a request may start
//
// Each host has a queue, first come first served. Only the first request in it
// has a start time. So what is learnt about the host moves all requests that
// wait: none starts too early after a 429, and one that gives up leaves no gap.
// The first may start when
//
//   - the interval since the latest start is over. It is the greatest of Delay,
//     the host's Crawl-delay and the adaptive delay, lengthened by Jitter;
//   - the host's pause is over (see Back-off), and its quota lasts (see
//     Quotas);
//   - fewer than Concurrency requests to the host are in flight;
//   - the limits on all hosts together allow it: GlobalConcurrency, GlobalRate
//     and the Limiter Within.
//
// The interval counts from the start of the previous request, or from its end
// with EndToStart. For the Transport, a request starts when its header goes
// onto the wire. Until then no other request to the host starts, whatever
// Concurrency says, so a slow dial does not bring two requests together.
// http.Transport reports that moment by httptrace. With a Base that does not, a
// request starts when it is granted.
//
// # Hosts
//
// All spellings of a host are one host, at whatever port: upper case, a final
// dot, letters that IDNA maps to the same name, an IPv6 address in full, an
// IPv4 address in an IPv6 one. [HostKey] has the precise rules. A host that is
// too long for a DNS name is an error at once. So is a request whose target, in
// absolute form, names another host than its URL or its Host header.
//
// # Why did my request wait?
//
// A [Reason] is the answer: the interval ("delay", "adaptive delay",
// "crawl-delay"), a "back-off", a "rate limit", earlier requests in the
// "queue", a busy "slot", the "fleet", a spent "budget", or a limit on all
// hosts. The Granted, Refused and Cancelled events of an [Observer] have it,
// and a [DelayError] does. While the request still waits, the [Trace] in its
// context gets it.
//
// Under package robotsmw, the first request to an origin also waits for its
// robots.txt. That fetch is a request of its own, and its events are marked
// Exempt.
//
// # Deadlines
//
// A wait can be long. A request whose wait would outlast the context's deadline
// is refused at once with a [*DelayError], which says when to come again.
// Nothing is consumed, so do other hosts first. Requests that wait already when
// the host backs off are refused in the same way.
//
// http.Client.Timeout includes the wait, so do not set it. Limit each attempt
// by Transport.AttemptTimeout, which begins after the wait, and the wait by
// Limiter.MaxWait:
//
//	client := &http.Client{Transport: &politeness.Transport{
//		AttemptTimeout: 10 * time.Second,
//		Limiter:        &politeness.Limiter{MaxWait: time.Minute},
//	}}
//
// A crawler with a queue for each host should not wait at all. [Limiter.Next]
// tells it which host is due first; see the example.
//
// # Replays
//
// net/http sends a request again by itself when a reused connection was closed
// under it, or the server refused an HTTP/2 stream. Such a replay keeps the
// pace too: the Transport ends it before anything is sent, and sends the
// request again when the host is due.
//
// # Slots
//
// A request holds its slot to the end of its response's body: until that is
// read to EOF or closed, until the request fails, or until its context or
// AttemptTimeout ends. An open body therefore delays its host. If the next
// request waits for nothing else, the log names the body's URL once.
//
// # Crawl-delay
//
// The Crawl-delay of robots.txt comes with the request's context, by
// [WithCrawlDelay]. Package robotsmw puts it there, so any layers may lie
// between it and the Limiter. A host with a Crawl-delay gets one request at a
// time. Even an absurd Crawl-delay is obeyed: if it is longer than
// MaxCrawlDelay, requests do not wait but are refused with a DelayError until
// it is over.
//
// The fetch of robots.txt itself, marked [Exempt], waits neither for a
// Crawl-delay nor behind requests that do. No other request overtakes one that
// came before.
//
// # Back-off
//
// These pause a host:
//
//   - A Retry-After with 429, 503 or 3xx, for as long as it says, in seconds or
//     as a date (RFC 9110 §10.2.3) by the server's own clock, up to
//     MaxRetryAfter.
//   - A 429 without a usable Retry-After, for BackOff and up to a tenth more at
//     random. The pause doubles with each incident in a row, up to MaxBackOff.
//   - A 503, or an answer that is surely a challenge or block (package refusal,
//     by status and header), for one more interval at first. From the second in
//     a row on it counts as a 429, and so does one after a 429. Its Retry-After
//     is obeyed.
//
// Any other status below 500 is a good answer and undoes one step. A 500 and
// the like are neither good nor bad. So one broken page among good ones costs
// almost no time. All refusals of requests that had started before the first
// refusal was heard are one incident.
//
// # Quotas
//
// Servers that count requests say in each response how many they still take:
// RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11, and
// the forms of its earlier versions), X-RateLimit-Remaining with X-RateLimit-
// Reset or -Reset-After, and X-Rate-Limit-Remaining. These fields can only
// lengthen an interval:
//
//   - A spent quota pauses the host until it is renewed, and one second more,
//     because most servers count in whole seconds.
//   - Otherwise the requests left are spread over the time until then. Requests
//     in flight count as made. RateLimit-Policy counts only if RateLimit does
//     not say what is left of that policy; then the quota is spread over its
//     window. A quota of something else than requests counts only when it is
//     spent.
//   - Of several quotas the strictest counts. What a response says holds until
//     its time is over, whatever later responses say.
//   - A Retry-After that is obeyed overrides quotas. MaxRetryAfter limits both.
//   - A malformed field is ignored, and so is one without a time.
//   - A response from a cache tells the quota of Age seconds ago. A quota that
//     has been renewed since is ignored.
//
// X-RateLimit-Remaining: 0, 1500 with X-RateLimit-Reset: 1, 1419704 are two
// quotas, each with its time. X-RateLimit-Reset below 1,000,000,000 is a number
// of seconds from now. A larger number is a time since 1970, in seconds or
// milliseconds. It may also be a date. Times are by the server's own clock,
// which the Date field tells.
//
// # Budgets
//
// [Limiter.Budget] limits the requests to a host in a UTC day and the bytes of
// their bodies, however slowly they come. When it is spent, requests are
// refused with a [DelayError] that says when the day is over. Budget.Dir keeps
// the count across restarts and for all processes of a machine. A fleet keeps
// the count for its members.
//
// # Fetching by other means
//
// Without an http.Client, call [Limiter.Acquire] before each request and
// [Grant.Done] after it. Back-off, quotas and adaptive pace work from the
// [Outcome], as they do with the Transport.
//
// # A fleet
//
// Ten polite processes are one rude crawler. Limiters with a [Limiter.Fleet]
// hand each host to one of them at a time, and that one paces it as if alone.
// Package redislimit makes Fleets in Redis or Valkey.
//
// # What it costs
//
// Acquire and Done take about 300 ns and one allocation. A host costs under 200
// bytes and is forgotten once its pace has been kept. There is no goroutine and
// no ticker: a request that waits sleeps in its own call, and an idle Limiter
// does nothing. The pace of a host is two points in time.
// golang.org/x/time/rate is not used for it, because its reservations cannot be
// moved once they are made. It serves only as GlobalRate, of which one request
// at a time holds a reservation.
package politeness
