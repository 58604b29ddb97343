// Package redislimit hands each host to one member of a fleet at a time, in
// Redis or Valkey: however many processes crawl, a host is asked no more often
// than one would.
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true,
//	})
//	fleet, err := redislimit.New(client, redislimit.Options{Namespace: "mybot"})
//	...
//	defer fleet.Close()
//	limiter := &politeness.Limiter{Fleet: fleet}
//
// It takes any redis.UniversalClient: a single server, Sentinel, a cluster. The
// server is Redis 7.0 or later, or Valkey. All members give their Limiters the
// same fields.
//
// # How it works
//
// A host has one owner at a time, who paces it alone with its own Limiter and
// its own clock. A request to a host that is owned costs no call.
//
// A member has a session in Redis while it owns or wants a host. One call a
// second renews it, and asks for hosts and gives others back. The member trusts
// its session for Lease after it sent the last renewal that succeeded; then it
// starts no request.
//
// An owner that hears that others wait gives the host to the next of them after
// 2 s and at least one request, or when it has had nothing to do there for 50
// ms, with what it has learnt: the rest still due, Crawl-delay, pauses,
// back-off and adaptive pace, and what is used of a Budget. The order goes
// round, and is another one for each host.
//
// When a member is silent for one and a half Leases, another ends its session.
// Its hosts are free, and each rests for an interval first. Close gives
// everything back at once.
//
// # When Redis is away, or forgets
//
// Owners go on until their sessions end, a Lease after the last renewal;
// everything else waits, or is refused with a [politeness.DelayError] around an
// [AwayError] where the context does not allow to wait. When Redis is back,
// whoever still has a session goes on at once. Nobody is ever unpaced.
//
// Redis may forget: it is flushed, restarted empty, evicts a key, or fails over
// to an older replica. Every call names the epoch, which is a random id and the
// server's run_id, so that this is noticed. Members tell the new epoch what
// they own and go on without a pause. Other hosts are given away once the epoch
// is 2 s old, or a Lease and a second if any member knew an earlier one.
//
// Time in Redis is what the members' own monotonic clocks prove to have passed.
// The clock of the server, and the members' wall clocks, may be set at will.
//
// # What it needs
//
// Two hashes, {Namespace}fleet and {Namespace}hosts, and a small one for each
// member whose hosts others want; so in a cluster all of a fleet is in one
// slot. A host is about 64 bytes besides its name while it is owned, or must
// still rest, or for an hour if it has taught something, or for the day with a
// politeness.Budget, which makes it a few more. The keys must not be
// evicted: an eviction costs a Lease of rest.
//
// An ACL user needs no more than
//
//	+eval +evalsha +info +hget +hmget +hset +hdel +hkeys +hgetall +hincrby
//	+hrandfield +del +publish +subscribe +unsubscribe
//	~{Namespace}* &{Namespace}*
//
// and in a cluster +cluster|slots +cluster|shards +command +readonly besides.
// Without the channels it works, but hosts change hands a second late.
//
// # What can still go wrong
//
// A process that its machine stops between its last look at the clock and its
// send sends late: the pace of that request is lost if the stop outlasts its
// session.
//
// If Redis forgets while all members that knew anything are cut off from it,
// newcomers and those meet for up to a Lease.
//
// If a primary goes on for some members, while a replica has been promoted for
// others, there are two fleets: set min-replicas-to-write and
// min-replicas-max-lag, so that the old one ends within a Lease.
//
// What was used of the Budgets of hosts that nobody owned is lost when Redis
// forgets, but for what each member knows of itself.
//
// A request in flight when its member loses its session, or is closed, goes on
// beside that of the next owner.
package redislimit
