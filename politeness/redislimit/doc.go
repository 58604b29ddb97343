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
// examples/queues shows workers of queues: those of asynq have such a fleet,
// and those of NATS JetStream and River none.
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
// With a Concurrency other than 1, requests may be in flight at that moment.
// The next owner counts them, so together the members keep to the Concurrency.
//
// Close gives all hosts of its member back at once, and ends all its requests
// that wait. A process that ends without Close is a dead member.
//
// # What an operator sees
//
// Times are for the default Lease of 10 s. In each case the fleet recovers by
// itself. No request is ever sent without a pace.
//
//	what happens            what requests see                    what the log says
//	a member comes          nothing                              nothing
//	Close of a member       its hosts go on at once              nothing
//	a member is killed      its hosts rest for up to 25 s        Info after 15 s: "is silent"
//	Redis does not answer   for 10 s, owned hosts go on; others  Warn after 2.5 s, and again when
//	                        wait, or AwayError after 2.5 s;      the session ends; Info when
//	                        then all hosts wait                  Redis answers again
//	one member is cut off   the same for this member; its hosts  the same here; Info elsewhere
//	                        go to others within 25 s
//	Redis was flushed,      owned hosts go on within a second;   Warn of each member at its next
//	restarted empty, has    others rest for 11 s (DelayError     call: "has lost what the fleet
//	evicted, failed over    with the reason "fleet")             knew"
//	a field is unreadable   the same                             Error that names the host
//	a right is missing, or  no host is served; AwayError at      Error at once: "refuses"
//	the server is too old   once, tried again every 5 s
//	two Limiters, a Fleet   DelayError of the second at once     nothing
//	after Close             DelayError at once, within a second  nothing
//	                        for requests that wait
//
// A request that may not wait for as long as that gets a
// [politeness.DelayError], whose Reason is "fleet" and whose Err says more.
//
// # How the fleet measures time
//
// All that Redis knows belongs to an epoch, which has a random id and the
// server's run_id. Every call names the epoch, so a loss is noticed. Members
// enter the hosts that they own into the new epoch. A host without an owner is
// given away when the new epoch is 2 s old. But if any member knew an earlier
// epoch, it is given away only one second after the new epoch has become as old
// as a Lease.
//
// The age of the epoch grows by what the server's clock says has passed since
// the last call, but by no more than 2 s while any member has a session. So it
// matters little if that clock is set. While nobody has a session, all of it
// counts: a pause ends when it said, although no process was there. The
// members' wall clocks do not matter.
//
// # What it needs
//
// Redis holds two hashes, {Namespace}fleet and {Namespace}hosts. It also holds
// a small hash for each member whose hosts other members want. The braces put
// all keys of a fleet into one slot of a cluster. A host takes about 64 bytes
// besides its name, and a few more with a politeness.Budget. Redis keeps a host
// while it is owned or must still rest. It keeps the host for at least an hour
// if something was learnt about it, and until the end of the day if some of its
// Budget is used. Each key expires an hour after its last use, or when nothing
// in it matters any more, so a fleet that is gone leaves nothing. The keys must
// not be evicted: after an eviction, hosts without an owner rest for a Lease
// and a second.
//
// An ACL user needs no more than
//
//	+eval +evalsha +info +hget +hmget +hset +hdel +hkeys +hgetall +hincrby
//	+hrandfield +del +pexpire +publish +subscribe +unsubscribe
//	~{Namespace}* &{Namespace}*
//
// and in a cluster also +cluster|slots +cluster|shards +command +readonly.
//
// # At scale
//
// Redis needs, for each robots.txt that redisstore keeps, its size and some 300
// bytes, and for each host that is owned or paused, about 64 bytes and its
// name.
//
// For more than one Redis, divide the crawl by host: everything that processes
// share belongs to one host. Give each part its own fleet and Redis. If a
// host's URLs always come to the same process, no Redis is needed, only a
// Limiter and a diskstore in each process. A Kafka topic keyed by
// politeness.HostKey does that, and so does a frontier that hands out URLs by
// host, such as URLFrontier. When a host moves to another process, its pace
// does not move with it. So let a process wait for one interval before it asks
// a host that it has just been given.
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
//
// If all members are killed at the same time, the time until the next one comes
// is not counted: pauses end later by as much.
package redislimit
