// Package redislimit lets the members of a fleet share hosts through Redis or
// Valkey. A host gets no more requests from many processes than from one.
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true,
//	})
//	fleet, err := redislimit.New(client, redislimit.Options{Namespace: "mybot"})
//	defer fleet.Close()
//	limiter := &politeness.Limiter{Fleet: fleet}
//
// A server, Sentinel or cluster will do, of Redis 7.0 or later, or Valkey. All
// members need the same settings of the Limiter.
//
// # What an operator sees
//
// Times are for a Lease of 10 s. No request is ever sent without a pace.
//
//	what happens            what requests see                    what the log says
//	a member comes          nothing                              nothing
//	Close of a member       its hosts go on at once              nothing
//	a member is killed      its hosts pause for up to 25 s       Info within 20 s: "is silent"
//	Redis does not answer   owned hosts go on for 10 s; others   Warn after 2.5 s, and when the
//	                        wait, or AwayError after 2.5 s;      session ends; Info when Redis
//	                        then all hosts wait                  answers again
//	one member is cut off   the same for it; its hosts go to     the same here; Info elsewhere
//	                        others within 25 s
//	Redis was flushed, has  owned hosts go on within 1 s;        Warn of each member: "has lost
//	evicted, failed over    others rest for 11 s, anew with      what the fleet knew"
//	                        each loss
//	a field is unreadable   the same                             Error that names the host
//	Redis answers with an   AwayError at once with its text;     Error at once: "refuses", with
//	error: NOPERM, MISCONF, owned hosts go on for 10 s           the text of Redis
//	READONLY, BUSY, an
//	unknown command
//	no SUBSCRIBE: no right, hosts change hands with the beats,   Error of each member, at once or
//	a proxy without it      once a second, instead of at once    after 8 s: "no hints"
//	the subscription's      the same for 4 s                     nothing
//	connection is half open
//	Limiters have different nothing: the owner's settings        Warn of the member that comes
//	settings                count                                later: names the settings
//	a member has another    AwayError of that member, at once;   Error of that member, at once:
//	version of the format   nothing of the others                names both versions
//	two Limiters, a Fleet   DelayError of the second at once     nothing
//	after Close             DelayError at once, within 1 s for   nothing
//	                        requests that wait
//
// A request that may not wait so long gets a [politeness.DelayError] with the
// Reason [politeness.ReasonFleet].
//
// # How it works
//
// A host has one owner at a time, which paces it with its own Limiter and
// clock, without a call to Redis. A member has a session while it owns or wants
// a host, and renews it once a second. The member trusts its session for one
// Lease, counted from when it sent the last renewal that succeeded. Then it
// starts no request.
//
// When others wait, the owner gives the host away, with what it has learnt,
// after 2 s and at least one request, or after 50 ms without a request.
//
// Every call names the epoch of what Redis knows, so a loss is noticed. Members
// then enter the hosts that they own anew.
//
// # What it needs
//
// A host takes about 64 bytes besides its name, while it is owned, must rest,
// or was learnt about in the last hour. A fleet that is gone leaves nothing.
// The keys must not be evicted. An ACL user needs no more than
//
//	+eval +evalsha +info +hget +hmget +hset +hdel +hincrby
//	+hrandfield +zadd +zscore +zcard +zrem +zrangebyscore +del
//	+pexpire +publish +subscribe +unsubscribe
//	~{Namespace}* &{Namespace}*
//
// and in a cluster +cluster|slots +cluster|shards +command +readonly.
//
// # Upgrades
//
// What Redis stores has a version, which changes only when members with the
// earlier format cannot work with the new one; the CHANGELOG says so. A member
// whose format is another one gets no host, disturbs nobody, and tries again
// once a second. So end all members of the old version and start the new ones,
// in any order. The new ones begin when the sessions of the old ones have
// ended: at once after Close, and after 15 s if they were killed. All hosts
// rest for 11 s then, and what was known about them is lost: pauses, Budgets
// and histories of refusals.
//
// # At scale
//
// A member makes one call to Redis a second, and up to 1.2 calls for each
// request to a host that is visited once. Of a host that many members want, one
// call serves five requests or more. What a call costs does not depend on how
// many members there are. Up to 64 members have a place in the line of one
// host; the others try with each beat. A member that has more than 256 hosts
// asks Redis for 256 of them with each beat, by turns, in case a message was
// lost.
//
// For more than one Redis, divide the crawl by host, each part with its own
// fleet. Where a host's URLs always come to one process, no Redis is needed.
// examples/queues has both.
//
// # What can still go wrong
//
//   - A process that is stopped after its last look at the clock may send one
//     request too soon.
//   - When Redis forgets, Budgets of hosts without an owner begin anew, and
//     members that are cut off go on for a Lease.
//   - A primary that was replaced has a fleet of its own, until it refuses
//     writes (min-replicas-to-write, min-replicas-max-lag).
//   - Redis looks replaced, and the fleet acts as after a flush, when a server
//     gets its first replica, and an hour after its last one has gone
//     (repl-backlog-ttl): both change its master_replid.
//   - Requests in flight when a session ends may overlap with later ones.
package redislimit
