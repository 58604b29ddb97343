// Package schedule decides when requests to a host may start. It is a pure
// state machine: it knows hosts, requests and points in time, and nothing else.
// It has no lock, goroutine, timer, clock, context or logger. Each event is a
// method that gets the present time as an argument and changes the state of a
// [Host], so a caller with a lock can drive any number of hosts, and a test can
// replay any sequence of events.
//
// Each file contains one rule, or what several rules share. A rule begins with
// the function or the type that states it:
//
//	time.go      points in time
//	settings.go  what the user has configured for a host
//	reason.go    what a request waits for
//	request.go   a request, and lists of requests
//	queue.go     the requests that wait for a host, in two lanes
//	signals.go   what the outcome of a request means for its host
//	learned.go   what was learned from a host, and which rules change it
//	claim.go     the claim of a member of a fleet to a host
//	host.go      the state of a host that the rules share
//	ready.go     the conditions for a start, in their order
//	interval.go  Delay, Crawl-delay, Jitter and EndToStart
//	adaptive.go  the adaptive delay
//	quota.go     quotas that a host declares (for how their interval is computed
//	             see package headers)
//	backoff.go   pauses after 429, 503, a block page or Retry-After (for its cap
//	             see package headers)
//	order.go     the order in each lane: how requests join and leave it
//	turns.go     the turns of the two lanes, robots.txt requests and pages
//	inflight.go  the requests that hold a slot, and for how long (their leases)
//	forecast.go  when a request that waits can start, and if that is too late
//	retime.go    new forecasts for the requests that wait
//	budget.go    what is left of the budget of a host for a day
//	eviction.go  the hosts of a Limiter, and which of them are evicted
//	ownership.go when a member of a fleet owns a host, keeps it for a retry, and
//	             gives it away
//	handoff.go   what the next owner of a host in a fleet has to know
package schedule
