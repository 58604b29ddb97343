// Package redislimit lets the members of a fleet share hosts through Redis or
// Valkey. Each host belongs to one member at a time. So a host gets no more
// requests from many processes than it would get from one.
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true,
//	})
//	fleet, err := redislimit.New(client, redislimit.Options{Namespace: "mybot"})
//	...
//	defer fleet.Close()
//	limiter := &politeness.Limiter{Fleet: fleet}
//
// Any redis.UniversalClient will do, for a single server, Sentinel or a
// cluster. The server must be Redis 7.0 or later, or Valkey. The Limiters of
// all members must have the same settings.
//
// # How it works
//
// A host has one owner at a time: a member that paces it alone, with its own
// Limiter and its own clock. The owner's requests need no call to Redis.
//
// A member has a session in Redis while it owns or wants a host. One call a
// second renews the session, asks for hosts and gives hosts back. The member
// trusts its session for one Lease, counted from when it sent the last renewal
// that succeeded. When that Lease is over, the member starts no request.
//
// When other members wait for a host, its owner gives it to the next of them
// after 2 s and at least one request, or after 50 ms without a request. The
// owner passes on what it has learnt about the host: the Crawl-delay, pauses,
// the back-off, the adaptive pace, the end of the interval, and how much of a
// Budget is used. The members take turns, in a different order for each host.
//
// When a member is silent for one and a half Leases, another member ends its
// session. The hosts of the silent member are then free, but each rests for an
// interval first. Close gives all hosts of its member back at once.
//
// # When Redis is away, or forgets
//
// While Redis is away, a member goes on using the hosts that it owns, for one
// Lease after its last renewal. Its requests to other hosts wait. If the
// context of such a request does not allow the wait, the request is refused
// with a [politeness.DelayError] that wraps an [AwayError]. When Redis is back,
// members that still have a session go on at once. No request is ever sent
// without a pace.
//
// Redis may forget, because it is flushed, is restarted empty, evicts a key, or
// fails over to an older replica. All that Redis knows belongs to an epoch,
// which has a random id and the server's run_id. Every call names the epoch, so
// a loss is noticed. Members enter the hosts that they own into the new epoch,
// and go on without a pause. A host without an owner is given away when the new
// epoch is 2 s old. But if any member knew an earlier epoch, such a host is
// given away only one second after the new epoch has become as old as a Lease.
//
// Redis measures time by the members' monotonic clocks: each call says how old
// the epoch is, as far as the member knows, and the highest age counts. The
// server's clock and the members' wall clocks do not matter.
//
// # What it needs
//
// Redis holds two hashes, {Namespace}fleet and {Namespace}hosts. It also holds
// a small hash for each member whose hosts other members want. The braces put
// all keys of a fleet into one slot of a cluster. A host takes about 64 bytes
// besides its name, and a few more with a politeness.Budget. Redis keeps a host
// while it is owned or must still rest. It keeps the host for at least an hour
// if something was learnt about it, and until the end of the day if some of its
// Budget is used. The keys must not be evicted: after an eviction, hosts
// without an owner rest for a Lease and a second.
//
// An ACL user needs no more than
//
//	+eval +evalsha +info +hget +hmget +hset +hdel +hkeys +hgetall +hincrby
//	+hrandfield +del +pexpire +publish +subscribe +unsubscribe
//	~{Namespace}* &{Namespace}*
//
// and in a cluster also +cluster|slots +cluster|shards +command +readonly.
//
// # What can still go wrong
//
// A process may be stopped by its machine just after it has looked at the clock
// and before it sends a request. If the process is stopped until its session is
// over, that request is sent although the host may have another owner.
//
// Redis may forget while all members with a session are cut off from it. For up
// to a Lease, new members may then send requests to the same hosts as the
// members that are cut off.
//
// When a replica is promoted, some members may still use the old primary. Then
// there are two fleets. Set min-replicas-to-write and min-replicas-max-lag so
// that the old primary refuses writes within a Lease.
//
// When Redis forgets, the used Budgets of hosts that nobody owns are lost. Each
// member still knows what it has used itself.
//
// When a member loses its session or is closed, its requests in flight go on.
// They may overlap with requests of the next owner.
package redislimit
