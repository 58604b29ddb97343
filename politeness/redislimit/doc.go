// Package redislimit keeps one pace for a fleet of crawlers, in Redis or Valkey:
// however many processes crawl, a host is asked no more often than one would.
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true,
//	})
//	fleet, err := redislimit.New(client, redislimit.Options{Namespace: "mybot"})
//	...
//	limiter := &politeness.Limiter{Shared: fleet}
//
// It takes any redis.UniversalClient: a single server, a sentinel, a cluster.
// Redis 6.2 or later, and Valkey, will do. All members give their Limiters the
// same fields. No member reads its wall clock: time is Redis's.
//
// # What a request costs
//
// One call of one script takes the next slot of its host: atomically, and
// counting Delay, Crawl-delay, back-off and Concurrency of all members. Requests
// of the same moment share a pipeline. A slot that had to be waited for is looked
// at once more, by an MGET, just before it begins: so nobody starts by a slot that
// was given before a host asked one of the members to go away.
//
// Concurrency is kept by leases. A request that is over within half the Delay
// needs none; a longer one takes a lease then, and gives it back. Below a Delay
// of 50 ms, and with EndToStart, each request takes one with its slot. A lease
// of a member that died ends after 30 s.
//
// # What is in Redis
//
// A host is a string of 12 bytes, 18 during a pause and 10 more for each lease. In
// Redis 7.0 that is 56 bytes besides the name, and 72 or more for a host that is
// paused or has a lease (MEMORY USAGE; the table of expiring keys, which that
// leaves out, has another 32 or so). It expires one second after it has ceased to
// matter. The fleet itself is two keys. All keys begin with {Namespace}, so in a cluster
// all of a fleet is in one slot, on one node.
//
// The keys must not be evicted: set maxmemory-policy noeviction. An eviction is
// noticed with the next report, a second later at most, and treated as lost state.
//
// An ACL user needs no more than
//
//	+evalsha +eval +script|load +time +info +get +mget +set +del +pttl
//	+hset +hgetall +hdel +pexpire ~{Namespace}*
//
// # When Redis is away
//
// It may be down, stopped, slow, out of memory, read-only or failing over; whatever
// makes it answer with an error or not within Options.Timeout. Then a member
// goes on at time slots of its own. Once a second each member reports to Redis,
// and gets a seat. Seat r of N may start requests in slot r of every N: slots as
// long as Delay, counted on Redis's clock as last learnt. So members never meet, and
// all of them together ask a host no more often than before. N is a power of two,
// so that members that have heard of different numbers of seats do not meet
// either; the pace is therefore between half of what it was, and all of it.
// The first request to a host waits for its interval from the loss on.
//
// Only the first requests, that are under way at the moment, wait for the Timeout; later ones
// do not ask. Reports go on in the background, every half second or less, as long as
// there are requests.
//
// A member that Redis has not known for three seconds has no seat that the
// others know, and is refused with an [*AwayError] until Redis answers; so is
// everybody with Options.Stop. It is a *politeness.DelayError too.
//
// # When Redis is back
//
// A server that was restarted, or to which Redis has failed over, does not know the
// script of the run before, and the first to ask finds out. So it is noticed at once
// when the state is gone, or is that of an older replica; likewise when it
// has been flushed. A new epoch begins then, and also when Redis has been there
// all the time, but some member has started a request without it. The epoch stays closed for
// 0.5 s and four times the Timeout: by then all members have heard of it, for none
// starts a request on its own unless Redis has failed to answer it
// just before. Until the epoch opens all of them keep to their own slots, and the
// first slot of a host from Redis is an interval after that. Pauses that members know of
// are told to Redis again.
//
// # What can still go wrong
//
// If Redis is away for some members only, these keep to their own slots while the others have
// Redis's. Then a host with a full queue at all members is asked by up to 1 + k/N times the
// rate, when k of N members are cut off; two starts of a cut-off member and another
// may be any time apart, and a pause that one side is asked for is not known
// to the other. It lasts until the cut-off members reach Redis again, or stop.
//
// A member whose process is held up between its claim and its request starts late, so the
// next may follow after less than an interval. It gives up the slot if it wakes
// more than a quarter of the Delay late, but nobody can look after the request leaves.
//
// While Redis is away a pause that a host asks of one member is not known to the others;
// Concurrency holds for each member alone; and as the clocks of two machines part, by some
// ten microseconds a second unless they are disciplined, so do their slots.
package redislimit
