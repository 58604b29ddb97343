// Package politeness paces requests so that no host is asked faster than it can
// bear, and a crawl of many hosts is not slowed down by any of them.
//
// Put a [Transport] under an http.Client and it is done:
//
//	client := &http.Client{Transport: &politeness.Transport{}}
//
// Requests to one host now start a second apart, one at a time, however many
// goroutines make them; hosts do not wait for each other; a host that answers
// 429 or 503 is left alone for as long as it asks. Every knob is a field of
// [Limiter]; its zero value is what the above uses.
//
// # When a request may start
//
// Each host has a queue, first come first served, and only the first in it has
// an appointment. So when something is learnt, the times of all who wait
// change: nobody leaves on an old timetable after a 429, and one who gives up
// leaves no hole. The first may start when
//
//   - the interval since the latest start is over. It is the greatest of Delay,
//     the host's Crawl-delay and the adaptive delay, lengthened by Jitter;
//   - what rests the host is over (see Back-off), and its quota lasts (see
//     Quotas);
//   - fewer than Concurrency requests to the host are in flight;
//   - the limits on all hosts together agree: GlobalConcurrency, GlobalRate and
//     the limiter Within.
//
// The interval counts from the start of the request before, or from its end
// with EndToStart. The Transport takes the moment at which the request's header
// goes onto the wire for its start. Until then no other request to the host
// starts, whatever Concurrency says, so a slow dial brings no two requests
// together. Where Base does not say when that is (as http.Transport does, by
// httptrace), the start is the grant.
//
// # Hosts
//
// All spellings of a host are one host, at whatever port: upper case, a final
// dot, letters that IDNA maps to the same name, an IPv6 address in full, an
// IPv4 address in an IPv6 one. [HostKey] says precisely what is one. A host
// longer than a name in the DNS can be is an error at once, and so is a request
// whose target, in absolute form, names another host than its URL or its Host
// header.
//
// # Why did my request wait?
//
// A [Reason] says it, for one of: the interval ("delay", "adaptive delay",
// "crawl-delay"), a "back-off", a "rate limit", earlier requests in the
// "queue", a busy "slot", the "fleet", a spent "budget", or a limit on all
// hosts. It comes with the Granted, Refused and Cancelled events of an
// [Observer], in a [DelayError], and, while the request still waits, to the
// [Trace] in its context.
//
// Under package robotsmw, the first request to an origin also waits for its
// robots.txt. That fetch is a request of its own, and its events are marked
// Exempt.
//
// # Deadlines
//
// A wait can be long. One that would outlast the context's deadline is refused
// at once with a [*DelayError], which says when to come again, and nothing is
// consumed: do other hosts first. This also holds for those who wait already
// when the host backs off.
//
// http.Client.Timeout counts the wait as well, so do not set it. Limit each
// attempt by Transport.AttemptTimeout, which begins after the wait, and the
// wait by Limiter.MaxWait:
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
// A request holds its slot to the end of its response's body: until it is read
// to EOF or closed, until it fails, its context ends, or AttemptTimeout is
// over. An open body therefore delays its host, and if that is all that the
// next request waits for, a line in the log names its URL once.
//
// # Crawl-delay
//
// The Crawl-delay of robots.txt comes with the request's context, by
// [WithCrawlDelay]; package robotsmw puts it there, whatever lies between it
// and the Limiter. While there is one, requests go one at a time. It is kept to
// even when it is absurd: beyond MaxCrawlDelay it is not waited for, but
// requests are refused with a DelayError until it is over.
//
// The fetch of robots.txt itself, marked [Exempt], neither waits for a
// Crawl-delay nor behind those who do. Nobody else overtakes anybody.
//
// # Back-off
//
// What rests a host:
//
//   - A Retry-After with 429, 503 or 3xx, for as long as it says, in seconds or
//     as a date (RFC 9110 §10.2.3) by the server's own clock, up to
//     MaxRetryAfter.
//   - A 429 without a usable one, for BackOff, up to a tenth more at random. It
//     doubles with each incident in a row, up to MaxBackOff.
//   - A 503, and a sure challenge or block (package refusal, by status and
//     header), for one interval more at first. From the second in a row on it
//     counts as a 429, and so does one after a 429. A Retry-After with it is
//     kept to.
//
// A good answer, which any status below 500 is but these, takes one step back;
// 500 and the like are neither good nor bad. So one broken page among good ones
// costs its host next to nothing. All refusals of requests that had started
// before the first refusal was heard are one incident.
//
// # Quotas
//
// Servers that count requests say in each response how many they still take:
// RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11, and
// the forms of its earlier versions), X-RateLimit-Remaining with X-RateLimit-
// Reset or -Reset-After, and X-Rate-Limit-Remaining. They only ever lengthen an
// interval:
//
//   - A quota that is spent rests the host until it is renewed, and a second
//     more, for most servers count in whole seconds.
//   - Otherwise what is left is spread over the time until then. Requests in
//     flight count as made. RateLimit-Policy counts only where RateLimit does
//     not say what is left of that policy; then the quota is spread over its
//     window. Of one that counts something else than requests, only that it is
//     spent counts.
//   - Of several the strictest counts, and what a response says holds until its
//     time is over, whatever later ones say.
//   - A Retry-After that is obeyed outweighs them. The cap is the same,
//     MaxRetryAfter.
//   - A malformed field is ignored, and so is one that does not say when.
//   - A response from a cache tells what was so Age seconds ago. A quota that
//     has been renewed since is ignored.
//
// X-RateLimit-Remaining: 0, 1500 with X-RateLimit-Reset: 1, 1419704 are two
// quotas, each with its time.
// X-RateLimit-Reset is a number of seconds below 1,000,000,000, and from there
// on a time, in seconds since 1970 or milliseconds; or it is a date. Times are
// by the server's own clock, as its Date tells it.
//
// # Budgets
//
// [Limiter.Budget] bounds the requests to a host in a day of UTC's, and the
// bytes of their bodies, however slowly they come. A spent Budget refuses: the
// [DelayError] says when the day is over. Budget.Dir keeps count across
// restarts and for all processes of a machine, and a fleet keeps it for its
// members.
//
// # Fetching by other means
//
// A caller who does not use an http.Client calls [Limiter.Acquire] before each
// request and [Grant.Done] after it, with the [Outcome]: it feeds back-off and
// adaptive pace just as the Transport does.
//
// # A fleet
//
// Ten polite processes are one rude crawler. Limiters that are given a
// [Limiter.Fleet] hand each host to one of them at a time, who paces it as if
// alone. Package redislimit makes Fleets in Redis or Valkey.
//
// # What it costs
//
// Acquire and Done take about 300 ns and one allocation. A host costs under 200
// bytes and is forgotten once its pace has been kept. There is no goroutine and
// no ticker: those who wait sleep in their own call, and an idle Limiter does
// nothing. What a host needs is two points in time, so the queue computes with
// those; golang.org/x/time/rate, whose reservations cannot be moved once they
// are made, serves where there is one for all hosts and only the first in line
// holds a reservation: GlobalRate.
package politeness
