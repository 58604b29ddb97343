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
// One call of one script takes the next slot of its host: atomically, and counting
// Delay, Crawl-delay, back-off and Concurrency of all members. Requests of the same
// moment share a pipeline, which nobody waits for: it leaves at once with those that
// are there. Each still has its own time limit and its own error. One that is
// cancelled leaves the others alone, and gives back its slot when the answer comes. A
// slot that had to be waited for is looked at once more, by a call that only reads,
// just before it begins: so nobody starts by a slot that was given before a host asked
// one of the members to go away. A member that comes to its slot later than a quarter
// of the Delay takes another, at another call.
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
// It may be down, stopped, slow, out of memory, read-only or failing over: it answers
// with an error, or not within Options.Timeout, and then once more. From then on a member
// goes on at time slots of its own. Each member has a seat, which it confirms once a
// second. Seat r of N may start requests in slot r of every N: slots as
// long as Delay, counted on Redis's clock as last learnt. So members never meet, and
// all of them together ask a host no more often than before. N is a power of two,
// so that members that have heard of different numbers of seats do not meet
// either; the pace is therefore between half of what it was, and all of it.
// The first request to a host waits for its interval from the loss on, or for four
// times the Timeout.
//
// Only the requests that are under way at the moment of the loss wait for an answer, and no longer
// than the Timeout; later ones do not ask. Questions go on in the background, several
// a second, as long as there are requests.
//
// A member that Redis has not known for three seconds has no seat that the
// others know of, and is refused with an [*AwayError] until Redis answers; so is
// everybody with Options.Stop. It is a *politeness.DelayError too.
//
// # When Redis is back
//
// A server that was restarted, or to which Redis has failed over, does not know the
// script of the run before, so the first to ask it finds out what it is before
// anybody gets a slot there. It is noticed likewise when the state has been flushed. Then a new
// epoch begins, and also when Redis has been there all the time, but some member has been
// without it. The epoch stays closed for 0.5 s and four times the Timeout. By then all
// members have heard of it, for none starts a request on its own unless Redis has failed
// to answer it just before. Until the epoch opens, all of them keep to their own slots; the
// first slot of a host that Redis gives is an interval after that. Pauses that members know of
// are told to Redis again.
//
// The very first member of a fleet begins an epoch too, so a crawl starts a second late.
//
// # What can still go wrong
//
// If Redis is away for some members only, these keep to their own slots while the others have
// Redis's. A host for which all members have requests is then asked at up to 1 + k/N times the
// pace, when k of N members are cut off, and the starts of a cut-off member and of another
// may be any time apart; a pause that one side is asked for is not known
// to the other. With one of two members cut off, 1.2 times the pace was measured, and starts
// 4 ms apart at a Delay of 100 ms. It lasts until the cut-off members reach Redis again, or stop.
// A process that its machine does not let run for longer than the Timeout, twice, is such a
// member: where machines are that busy, choose a longer Timeout.
//
// A member that the machine holds up between its slot and its request starts late, so the next
// may follow after less than an interval; the slots themselves are an interval apart.
//
// While Redis is away a pause that a host asks of one member is not known to the others,
// Concurrency holds for each member alone, and members with different Delays or adaptive
// paces may meet. As the clocks of two machines part, by some ten microseconds a second unless they
// are disciplined, so do their slots.
//
// A replica is promoted without what the primary had not sent it yet; the new epoch covers that.
// A primary that goes on for some members, while a replica has been promoted for others, is
// two fleets: see min-replicas-to-write.
package redislimit
