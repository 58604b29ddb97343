// Package redislimit lets several processes share the hosts of a crawl through
// Redis or Valkey, so that a host receives no more requests from all of them
// together than it would receive from one.
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: []string{"127.0.0.1:6379"}, ContextTimeoutEnabled: true,
//	})
//	fleet, err := redislimit.New(client, redislimit.Options{Namespace: "mybot"})
//	defer fleet.Close()
//	limiter := &politeness.Limiter{Fleet: fleet}
//
// The processes are the members of a fleet. Each has its own Limiter and its
// own [Fleet], and all Limiters should have the same settings. Redis may be a
// single server, a cluster or managed by Sentinel, version 7.0 or later.
// Valkey works too.
//
// # Ownership of hosts
//
// At any time, at most one member owns a host, and only the owner sends
// requests to it; the section Limitations has the exceptions. The owner
// rate-limits the host with its own Limiter and clock, without a call to Redis
// per request. Only a Budget needs calls: the owner reserves a 32nd of it with
// each, so a Budget of less than 64 requests needs one per request. While Redis
// does not answer, the owner can use only what it has reserved. Other members
// that have requests for the host wait in a queue in Redis.
//
// A host is handed over in these steps. The words in parentheses are the
// operations of the script in call.lua.
//
//  1. Member B requests a host that member A owns (want). Redis appends B to
//     the host's queue and notifies A.
//  2. A's turn ends when it has owned the host for 2 s and has started at least
//     one request, or when it has had no request to the host, waiting or in
//     flight, for 50 ms. If a request was rejected (MaxWait) and may be retried
//     within 30 s, A waits for it instead, until the 2 s are over at most. When
//     the turn has ended, A starts no request to the host. If A's first request
//     is not due yet (because of a delay or a pause), A keeps the host until
//     then, even for longer than 2 s. If the request is due but something else
//     delays it (GlobalRate, Within, Budget, or requests of other members in
//     flight), the turn ends without a request when both the 2 s and 50 ms
//     after the due time are over.
//  3. If the host's Concurrency is 1, or with EndToStart, A waits until its
//     request in flight has ended. In any case, A waits until the requests that
//     it has started are on the wire. Then it gives the host back (give). With
//     the host, A stores what it has learned: pauses, the back-off, the
//     Crawl-delay, the adaptive delay, the quota that the host declares, the
//     Budget that is spent, when the next request may start, and how many of
//     A's requests are still in flight.
//  4. Redis offers the host to a member of the queue and notifies that member.
//     It may be B. The order of the queue is not that of arrival: each member
//     gets its turn, in an order that differs from host to host. If the member
//     does not accept the offer within 1.5 s, the host is available to the
//     first member that requests it. The others are not notified of this. They
//     request the host with their heartbeats, 256 hosts a second, so a member
//     with many hosts needs longer.
//  5. B requests the host again (want), becomes the owner, and receives what A
//     has stored. B's first request starts when A's next request might have
//     started, or up to 2 s later, because the first 2 s after a host was given
//     back do not count. A's requests in flight take up B's Concurrency. If the
//     host has a Crawl-delay, B waits until they have ended.
//  6. When a request that A had in flight ends, A reports this (land). If its
//     response begins a pause, for example by a Retry-After, A reports the
//     pause and the level of the back-off, as soon as the header has arrived if
//     the request was made by a Transport. The owner learns nothing else from
//     late responses. Redis keeps the pause beside the owner's data until an
//     owner has stored it as its own, and notifies the owner, if there is one.
//
// An owner also stores what it has learned while it keeps the host, so that its
// successor knows it if the owner is killed (keep): a new pause at once, a new
// Crawl-delay and a changed back-off with one of its next heartbeats.
//
// If no other member waits, an owner without requests gives the host back when
// the next request may start, or if that is more than 30 s away. It does so
// with one of its next heartbeats; a member with many hosts needs up to 30 s.
//
// # Sessions and epochs
//
// A member has a session in Redis while it owns or wants a host, and renews the
// session once a second with a heartbeat. The member relies on the session for
// one Lease after the start of the last successful renewal. After that, it
// starts no request until Redis answers. The other members treat a session as
// ended when it has not been renewed for one and a half Leases. The first
// member that notices this ends the session, logs it, and requests all its
// hosts again. The other members do the same when they notice that the session
// is gone, with one of their next heartbeats. Each host of the session then
// belongs to the first member that requests it. Because these periods differ by
// half a Lease, a host does not get a second owner while the first one still
// sends requests.
//
// An epoch is the time during which Redis keeps the state of the fleet. Every
// call contains the epoch's random name, so members notice when the state was
// lost. Each member then registers the hosts that it owns in the new epoch.
// Redis hands out other hosts when every member that missed the loss has
// stopped: when the epoch is one Lease and one second old. If members have
// different Leases, the longest one counts. If no member that joins knew an
// earlier epoch, and Redis has no data that shows members of one, 2 s are
// enough.
//
// # Failures
//
// Times are for a Lease of 10 s. In each of these cases, requests still wait
// for the delay of their host.
//
//	the first member joins   hosts are available after 2 s; no log
//	another member joins     no effect; no log
//	a member calls Close     its hosts are available at once; pauses that its
//	                         requests in flight begin afterwards are lost; no
//	                         log
//	a member is killed       its hosts are paused for 16 to 19 s, and up
//	                         to 25 s if Redis or the others are slow;
//	                         Info of the member that notices first:
//	                         "stopped renewing"
//	Redis does not answer    hosts with requests continue for 10 s, then
//	                         wait; a host without requests whose delay is
//	                         over is no longer owned, so its next request
//	                         waits like those to other hosts; after 2.5 s,
//	                         requests that may not wait longer get an
//	                         AwayError; Warn after 2.5 s and when the
//	                         session ends, Info when Redis answers again
//	a member is cut off      the same for this member; others get its
//	                         hosts within 25 s
//	Redis is flushed, evicts owned hosts continue without interruption,
//	a key or fails over      others are paused for 11 s; pauses of hosts
//	                         without an owner are lost; Warn of each
//	                         member: "has lost the fleet's state"
//	stored data of a host    the same; Error that names the host
//	is invalid
//	Redis returns an error:  owned hosts continue for 10 s; Error at once:
//	NOPERM, MISCONF,         "this member gets no more hosts"; requests to
//	READONLY, BUSY, …        other hosts wait, and get an AwayError with
//	                         the error's text as soon as their context or
//	                         MaxWait does not allow to wait for the next
//	                         attempt (1 s, or 5 s if Redis needs another
//	                         configuration)
//	SUBSCRIBE or PUBLISH     hosts change owners with the heartbeats
//	is not possible          instead of at once: once a second for up to
//	                         256 hosts of a member, later for more. If
//	                         the connection of the subscription is
//	                         closed again and again without an error of
//	                         Redis, hosts change no owners for the first
//	                         8 s. Error of each member, at once or after
//	                         8 s: "no notifications"
//	the subscription's       for 4 s, hosts change owners with this
//	connection is half open  member's heartbeats; a host offered to it is
//	                         available to all members after 1.5 s; no log
//	all connections of a     the same, and a call on such a connection is
//	member are half open     repeated after Options.Timeout (1 s) and 250
//	                         ms; a client with many idle connections may
//	                         need that time for each: then see "Redis does
//	                         not answer"
//	Limiters have different  the owner's settings apply; Warn of a member
//	settings                 whose settings differ from those of the
//	                         member that joined before it
//	a member has another     Error of this member at once; its requests
//	format version           wait, and get an AwayError as soon as their
//	                         context or MaxWait does not allow to wait
//	                         for the next attempt (1 s); others are not
//	                         affected
//	two Limiters use one     DelayError of the second for a host that
//	Fleet                    the first owns or has requested; other
//	                         hosts are not checked; no log
//	a Fleet is used after    DelayError at once, or within 1 s for
//	Close                    requests that already wait; no log
//
// Requests whose context or MaxWait does not allow the wait get a
// [politeness.DelayError] with the Reason [politeness.ReasonFleet].
//
// # Requirements
//
// Redis stores about 64 bytes and the name of each host that is owned, wanted
// or paused, whose delay is not over, to which a request is in flight, or about
// which something was learned in the last hour. All keys expire when no member
// is left. Redis must not evict the keys. An ACL user needs these permissions
// only:
//
//	+eval +evalsha +info +hget +hmget +hset +hdel +hincrby
//	+hrandfield +zadd +zscore +zcard +zrem +zrangebyscore +del
//	+pexpire +publish +subscribe +unsubscribe
//	~{Namespace}* &{Namespace}*
//
// and, in a cluster, +cluster|slots +cluster|shards +command +readonly.
//
// # Upgrades
//
// The stored data has a format version. It changes only if members of the
// earlier format could not work with the new one, and the CHANGELOG mentions
// each change. A member of another version gets no host, does not affect the
// others, and tries again once a second. To upgrade, stop all old members and
// start new ones, in any order. The new members begin when all sessions of the
// old ones have ended: at once after Close, and if the old members were killed,
// about 17 s after that or after the first new member has joined, whichever is
// later. All hosts are then paused for 11 s, and pauses, Budgets and the
// history of blocked requests are lost.
//
// # Cost
//
// A member calls Redis once a second, and up to 1.2 times for each request to a
// host that is visited once. If many members want a host, there is one call for
// five requests or more. Each call runs INFO, reads the data of the hosts that
// it concerns with one command, and writes each host that has changed. The cost
// of a call does not depend on the number of members. At most 64 members can be
// in the queue of one host; others retry with each heartbeat. In case a
// notification is lost, each heartbeat also requests up to 256 of the member's
// hosts again, in rotation.
//
// If one Redis is not enough, partition the crawl by host and give each part a
// Fleet with its own Namespace and server. If all URLs of a host are always
// processed by the same process, no Redis is needed. examples/queues shows
// both.
//
// # Limitations
//
//   - A process that the operating system stops between its check of the clock
//     and the start of a request may start that request too early.
//   - After a loss or a failover, the pauses, Crawl-delays, back-off and
//     Budgets of hosts without an owner are lost, and so are pauses of late
//     responses that the owner has not yet received, except to members that
//     know them. Members that are cut off continue for a Lease. If a new
//     process is the first to reach an empty Redis, it may own their hosts
//     meanwhile.
//   - If a member is cut off until its session ends, what it learned meanwhile
//     is lost to the next owners, except pauses. A pause is reported when the
//     member reaches Redis again, or, if it needed no host and was cut off for
//     more than two Leases, when it owns the host again.
//   - If a member knows a pause, and another member reports one that ends less
//     than a second later, the earlier end counts.
//   - A primary that was replaced but still runs serves a separate fleet until
//     it rejects writes (min-replicas-to-write, min-replicas-max-lag).
//   - A server's master_replid changes when it gets its first replica, and an
//     hour after its last replica was removed (repl-backlog-ttl). The fleet
//     then acts as after a flush.
//   - Requests in flight when a session ends may overlap with requests of the
//     next owner.
//   - If the server's clock is set forward while no member has a session,
//     delays and pauses end earlier by that amount. While a member has a
//     session, each such change ends pauses up to 2 s early. If the clock is
//     slow, stopped or set back, pauses only become longer.
package redislimit
